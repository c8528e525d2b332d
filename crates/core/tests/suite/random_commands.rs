//! Random compositions of commands.

/// Makes command lines; the same seed makes the same.
pub(crate) struct Generator {
    state: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 }
    }

    fn next(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 16) % below
    }

    /// Whether something happens that does in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.next(from.len() as u64)).unwrap()]
    }

    pub(crate) fn line(&mut self) -> String {
        match self.next(4) {
            0 => self.soup(),
            _ => self.list(3),
        }
    }

    /// What means something to a shell, in any order.
    fn soup(&mut self) -> String {
        const TOKENS: [&str; 52] = [
            "git",
            "ls",
            "rm",
            " ",
            " ",
            " ",
            "'",
            "'",
            "\"",
            "\"",
            "\\",
            ";",
            "&",
            "|",
            "<",
            ">",
            "(",
            ")",
            "{",
            "}",
            "$",
            "`",
            "#",
            "\n",
            "=",
            "*",
            "!",
            "$(",
            " && ",
            " || ",
            "; ",
            " | ",
            "<<E\n",
            "\nE\n",
            "f()",
            "if ",
            "then ",
            "fi",
            "do ",
            "done",
            "in ",
            "case ",
            "esac",
            ";;",
            "-x",
            "a.txt",
            "[[ ",
            " ]]",
            "/dev/null",
            "2>&1",
            "\\\n",
            "$'",
        ];
        let length = 2 + self.next(9);
        (0..length).map(|_| self.pick(&TOKENS)).collect()
    }

    fn list(&mut self, depth: u64) -> String {
        let mut text = self.pipeline(depth);
        for _ in 0..self.next(3) {
            text.push_str(self.pick(&[
                " && ",
                " || ",
                "; ",
                "\n",
                " & ",
                ";",
                "&&",
                " # it's\n",
                " \\\n&& ",
            ]));
            text.push_str(&self.pipeline(depth));
        }
        text
    }

    fn pipeline(&mut self, depth: u64) -> String {
        let mut text = if self.chance(4) { "! ".to_owned() } else { String::new() };
        text.push_str(&self.command(depth));
        for _ in 0..self.next(4) / 2 {
            text.push_str(self.pick(&[" | ", "|", " |& ", " |\n"]));
            text.push_str(&self.command(depth));
        }
        text
    }

    fn command(&mut self, depth: u64) -> String {
        if depth == 0 || self.chance(55) {
            return self.simple(depth);
        }
        let inner = self.list(depth - 1);
        let other = self.list(depth - 1);
        let word = self.word(depth - 1);
        match self.next(13) {
            0 => format!("({inner})"),
            1 => format!("{{ {inner}; }}"),
            2 => format!("if {inner}; then {other}; fi"),
            3 => format!("for x in {word} a; do {inner}; done"),
            4 => format!("case {word} in a|b) {inner};; *) {other};; esac"),
            5 => format!("f() {{ {inner}; }}; f {word}"),
            6 => format!("ls() {{ {inner}\n}}\nls {word}"),
            7 => format!("[[ -n {word} ]] && {inner}"),
            8 => format!("while read -r x; do {inner}; done <<< {word}"),
            9 => format!("cd sub && {inner}"),
            10 => format!("coproc {inner}"),
            11 => format!("if {inner}\nthen {other}\nelse {inner}\nfi > /dev/null"),
            _ => format!("until {inner}; true; do {other}; done"),
        }
    }

    fn simple(&mut self, depth: u64) -> String {
        const NAMES: [&str; 24] = [
            "git",
            "git",
            "git status",
            "ls",
            "ls",
            "ls",
            "cat",
            "cat",
            "grep -n",
            "wc",
            "sort",
            "echo",
            "echo",
            "true",
            "rm",
            "id",
            "r''m",
            "$x",
            "A=1 ls",
            "l\\s",
            "'git'",
            "g\\\nit",
            "cd",
            "f",
        ];
        let mut text = if self.chance(85) { self.pick(&NAMES[..14]) } else { self.pick(&NAMES) }.to_owned();
        for _ in 0..self.next(4) {
            text.push(' ');
            text.push_str(&self.word(depth));
        }
        match self.next(14) {
            0 => text.push_str(" > /dev/null"),
            1 => text.push_str(" 2>&1"),
            2 => text.push_str(" < a.txt"),
            3 => text = format!("{text} <<'E'\n$(rm x) `id`\nE\n{}", self.simple(0)),
            4 if depth > 0 => text = format!("{text} <<E\na $({})\nE\n", self.simple(0)),
            5 if depth > 0 => text = format!("{text} <<-E\n\ta $({})\n\tE\n", self.simple(0)),
            6 if depth > 0 => text = format!("{text} <<< \"$({})\"", self.simple(0)),
            7 if depth > 0 => text = format!("{text} <({})", self.list(depth - 1)),
            8 if self.chance(10) => text.push_str(" > f"),
            _ => {}
        }
        text
    }

    fn word(&mut self, depth: u64) -> String {
        const WORDS: [&str; 26] = [
            "a",
            "a.txt",
            "-x",
            "'b c'",
            "\"d e\"",
            "\\*",
            "*.txt",
            "*",
            "$x",
            "\"$x\"",
            "${x:-y}",
            "a\"$x\"",
            "--",
            "{a,b}",
            "$'\\n'",
            "'$(rm x)'",
            "'it'\\''s'",
            "a\\ b",
            "-n",
            "\"\\$(rm)\"",
            "~",
            "#a",
            "a#b",
            "[a-z]*",
            "\"*\"",
            "$1",
        ];
        if depth > 0 && self.chance(12) {
            let inner = self.list(depth - 1);
            return match self.next(4) {
                0 => format!("$({inner})"),
                1 => format!("\"$({inner})\""),
                2 => format!("`{inner}`"),
                _ => format!("a\"$( {inner} )\"b"),
            };
        }
        self.pick(&WORDS).to_owned()
    }
}
