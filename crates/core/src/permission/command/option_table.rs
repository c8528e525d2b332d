//! Which options make an innocent program run others, or write where it likes.

/// A program and what is risky among its arguments, in words: `--long` (in every abbreviation), `-x` (a
/// letter, in clusters too), `=text` (a word that begins so), `*text` (a word that holds it) and `NAME=` (any
/// word with `=`); `--` alone is that word. `>` before an option says that `-` and `/dev/null` are harmless values of it, `!text`
/// that a word that begins so is harmless, and `:letters` that behind these letters a cluster is a value.
type Risks = (&'static str, &'static str);

const BAT: &str = "--pager --lessopen --source --target --config-file --config-dir";
const COMPILER: &str = "=-wrapper =-B =-specs =--specs =-fplugin =-Xclang =-ld-path =@ =-Wl, =-Xlinker =-fuse-ld \
    =-fpass-plugin =--prefix =--gcc-toolchain =-ccc =--config =-load";
const MAKE: &str = ":CEfIoW --eval -E -f --file --makefile -C --directory -I --include-dir NAME=";
const GPG: &str = "--photo-viewer --exec-path --agent-program --dirmngr-program --keyserver-options --options \
    --homedir --output -o --status-file --logger-file --attribute-file --load-extension \
    --pinentry-program";
const GRADLE: &str = "-I --init-script -b --build-file -p --project-dir -c --settings-file -g --gradle-user-home -D \
    -P --include-build";
const SORT: &str = ":kStTo --compress-program --output -o -T --temporary-directory";
const TAR: &str = ":bCfgHKLNTVXFI --checkpoint-action --to-command --use-compress-program -I --info-script \
    --new-volume-script -F --rsh-command --rmt-command --absolute-names -P --index-file \
    --set-mtime-command -g --listed-incremental --volno-file";
const KUBECTL: &str = "--kubeconfig --kuberc --helm-command --enable-exec --enable-helm --enable-alpha-plugins \
    --profile-output --output-directory --cache-dir";
const MVN: &str = "-f --file -s --settings =exec: =org.codehaus.mojo =-Dexec. =-Dmaven.ext =-Dorg.slf4j";
const PACKAGES: &str = "--script-shell --shell --prefix -C --dir --cwd --node-options --userconfig --globalconfig \
    --git --browser --editor --viewer --init-module --call";
const PIP: &str = "--python --target -t --prefix --root --log";
const TERRAFORM: &str = "=-chdir =-plugin-dir =--chdir =--plugin-dir =-out =-state =-backup";

/// Sorted by name.
const TABLE: &[Risks] = &[
    ("7z", "=-si =-so"),
    ("ack", "--pager =--pager"),
    ("ag", "--pager =--pager"),
    ("ant", "-f =-f =-buildfile =-file =-lib =-D =-logger =-listener =-propertyfile"),
    ("bat", BAT),
    ("batcat", BAT),
    (
        "bsdtar",
        ":bCfTXI --checkpoint-action --to-command --use-compress-program -I --info-script \
        --new-volume-script -F --rsh-command --rmt-command --absolute-names -P \
        --index-file",
    ),
    ("bunx", "--bun-path --cwd"),
    ("c++", COMPILER),
    (
        "cargo",
        ":pFjCZ --config -C -Z --manifest-path --target-dir --artifact-dir --out-dir \
        --lockfile-path",
    ),
    ("cc", COMPILER),
    ("clang", COMPILER),
    ("clang++", COMPILER),
    (
        "cmake",
        "=-P =-E =-C --toolchain =-D !-DCMAKE_BUILD_TYPE= !-DCMAKE_EXPORT_COMPILE_COMMANDS= \
        !-DBUILD_ -- --trace-redirect --graphviz --profiling-output --debugger-pipe NAME=",
    ),
    ("cpio", "--rsh-command -O -F -I"),
    (
        "curl",
        ":AbcCdDeEFHKmoPQrtTuUwxXyYz >-o -O >--output --remote-name --remote-name-all \
        --output-dir -K --config -c --cookie-jar >-D >--dump-header --trace --trace-ascii \
        --stderr --libcurl --hsts --alt-svc --etag-save -J --engine --netrc-file -T \
        --upload-file =--expand- *%output{ --ssl-sessions --trace-config",
    ),
    ("date", "-s --set"),
    ("dd", "=of="),
    ("docker", "--config"),
    ("emacs", "--eval --execute --load -l --script --funcall -f --batch -Q --insert"),
    ("fd", "-x -X --exec --exec-batch"),
    ("fdfind", "-x -X --exec --exec-batch"),
    ("g++", COMPILER),
    ("gcc", COMPILER),
    ("ginstall", "--strip-program"),
    ("gmake", MAKE),
    (
        "go",
        "=-exec =--exec =-toolexec =--toolexec =-overlay =--overlay =-vettool =--vettool \
        =-modfile =--modfile =-ldflags =--ldflags =-gcflags =--gcflags =-asmflags \
        =--asmflags =-gccgoflags =--gccgoflags =-compiler =--compiler =-pkgdir =--pkgdir \
        =-o =--o =-cpuprofile =--cpuprofile =-memprofile =--memprofile =-blockprofile \
        =--blockprofile =-mutexprofile =--mutexprofile =-trace =--trace =-C =--C",
    ),
    ("gpg", GPG),
    ("gpg2", GPG),
    ("gradle", GRADLE),
    ("gradlew", GRADLE),
    ("gshuf", "-o --output"),
    ("gsort", SORT),
    ("gtar", TAR),
    (
        "helm",
        "--post-renderer --kubeconfig --output-dir --plugins --registry-config \
        --repository-config",
    ),
    ("iconv", "-o --output"),
    ("info", "-o --output --restore --dribble"),
    ("install", "--strip-program"),
    (
        "java",
        "=-XX:OnError =-XX:OnOutOfMemoryError =-XX:Flags =-XX:VMOptionsFile =-XX:+Flight \
        =-agent =-javaagent =@",
    ),
    (
        "just",
        "--shell --shell-arg -f --justfile -d --working-directory --set -c --command \
        --chooser NAME=",
    ),
    ("kubectl", KUBECTL),
    (
        "less",
        "=+ -o -O --log-file --LOG-FILE -k --lesskey-file --lesskey-src --lesskey-content \
        -T --tag-file",
    ),
    ("make", MAKE),
    ("man", "-P --pager -H --html -C --config-file -M --manpath -X -T --preprocessor -p -l"),
    ("more", "=+"),
    ("mvn", MVN),
    ("mvnw", MVN),
    ("nano", "-s --speller -o --operatingdir"),
    ("ninja", "-f -C -t"),
    ("npm", PACKAGES),
    (
        "npx",
        "-c --call --shell --script-shell --prefix --node-options --userconfig \
        --globalconfig -C",
    ),
    ("oc", KUBECTL),
    ("openssl", "=-engine =-provider =-config =-load =-out =-writerand"),
    ("patch", "-e --ed -o --output -d --directory -r --reject-file -B --prefix"),
    ("pico", "-s --speller -o --operatingdir"),
    ("pip", PIP),
    ("pip3", PIP),
    ("pnpm", PACKAGES),
    ("podman", "--config"),
    ("pytest", ":kmpconWr -p -c -o --override-ini --rootdir --confcutdir --config-file"),
    (
        "rake",
        "-e --execute -E --execute-continue -p --execute-print -f --rakefile -r --require \
        -I --libdir -R --rakelibdir",
    ),
    ("rg", "--pre --hostname-bin"),
    (
        "rsync",
        ":efTBM -e --rsh --rsync-path -M --remote-option --log-file --write-batch \
        --only-write-batch --daemon --config",
    ),
    ("rustc", "-C --codegen -Z -o --out-dir --emit"),
    ("scp", "-S -o -F -D -J"),
    ("sdiff", "--diff-program -o --output"),
    ("sftp", "-S -o -F -D -b -s -J"),
    ("shuf", "-o --output"),
    ("sort", SORT),
    ("split", "--filter"),
    ("ssh-add", "-s -S"),
    ("ssh-keygen", "-D -f -w"),
    ("ssh-keyscan", "-f"),
    ("tar", TAR),
    ("tcpdump", "-z -w -W -G"),
    ("terraform", TERRAFORM),
    ("tofu", TERRAFORM),
    ("tree", "-o"),
    ("ug", "--pager --filter --save-config"),
    ("ugrep", "--pager --filter --save-config"),
    ("unzip", "-d"),
    (
        "uvx",
        "--from --with --with-requirements --with-editable --spec --python -p --index-url \
        --default-index --index --extra-index-url --find-links --pip-args --directory \
        --project --config-file",
    ),
    (
        "wget",
        ":aoeiBtOTwQUlARDIXP --use-askpass -e --execute --config >-O >--output-document >-o \
        -a >--output-file --append-output -P --directory-prefix --post-file --save-cookies \
        --hsts-file --warc-file --rejected-log",
    ),
    ("xxd", "-r"),
    ("yarn", PACKAGES),
    ("yq", "-i --inplace -s --split-exp"),
    ("zip", "-T --test --unzip-command -O --output-file --out -lf --logfile-path"),
];

/// What is risky among the arguments of the program `name`.
pub(super) fn risks_of(name: &str) -> Option<&'static str> {
    let at = TABLE.binary_search_by_key(&name, |(program, _)| program).ok()?;
    TABLE.get(at).map(|(_, risks)| *risks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|(name, _)| *name));
    }
}
