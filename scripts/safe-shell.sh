# Read by the scripts that run as root, before anything else: what a caller's shell or another user's environment may have left, and that another program
# than ours, or one that others can write, must not be run for it.
unset CDPATH ENV BASH_ENV GREP_OPTIONS LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT NODE_OPTIONS NODE_PATH
unset IFS
# What is made here is executed as root later: others may not write it, whatever the caller's umask is.
umask g-w,o-w

# Without entries that depend on where the caller stands: an empty one, `.`, and whatever else is relative.
safe_path() {
  rest=$PATH:
  kept=''
  while [ -n "$rest" ]; do
    entry=${rest%%:*}
    rest=${rest#*:}
    case $entry in /*) kept=$kept${kept:+:}$entry ;; esac
  done
  printf '%s' "${kept:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
}
PATH=$(safe_path)
export PATH

# As root, a clone that any user can write is not run. The folder itself and those above it; in a sticky folder others replace nothing of root's.
check_clone() {
  [ "$(id -u)" = 0 ] || return 0
  folder=$(pwd -P)
  set -- "$folder/src" "$folder/scripts" "$folder/bin" "$folder/node_modules" "$folder/dist"
  while :; do
    set -- "$@" "$folder"
    [ "$folder" != / ] || break
    folder=$(dirname -- "$folder")
  done
  for folder in "$@"; do
    [ -d "$folder" ] || continue
    weak=$(find "$folder/." -maxdepth 0 -perm -0002 ! -perm -1000 2>/dev/null || true)
    [ -z "$weak" ] || { printf '%s\n' "any user of this machine can change what is run from here as root: chmod o-w $folder" >&2; exit 1; }
  done
}
