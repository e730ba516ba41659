#!/bin/sh
# Holds pods with the label hold=yes until a file appears beside the folder of this program.
grep -q '"hold":"yes"' || exit 0
[ ! -e "${0%/*}.go" ] || exit 0
printf '{"decision":"hold","message":"not before hooks.go is there","watch":["%s"]}' "${0%/*}.go"
