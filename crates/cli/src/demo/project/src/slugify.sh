#!/bin/sh
# Turns a title into a slug: lower case, words joined by single dashes.
printf '%s\n' "$1" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9\n' '-'
