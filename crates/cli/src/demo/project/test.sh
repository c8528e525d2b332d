#!/bin/sh
# Checks slugify.sh: one line a title; fails when any title does.
failed=0

check() {
    got=$(sh src/slugify.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    '$1' gives '$got'"
    else
        echo "FAIL  '$1' gives '$got' instead of '$2'"
        failed=1
    fi
}

check 'Hello World' 'hello-world'
check 'Rust & C: a comparison' 'rust-c-a-comparison'
check 'Done!' 'done'

exit $failed
