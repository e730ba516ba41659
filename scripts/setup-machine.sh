#!/bin/sh
# Brings a bare Debian machine to where `up`, `test` and `bench` can run. Idempotent: with everything in place it prints nothing.
# usage: sh scripts/setup-machine.sh up|test
# Touches no other container engine: a containerd that is already installed is used as a program only, and one that is
# installed here is never started as a service.
set -eu
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
. "$here/safe-shell.sh"
cd "$here/.."
check_clone
purpose=${1:-up}
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() { printf 'set-up: %s\n' "$*"; }
die() { printf 'set-up: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

[ "$(uname -s)" = Linux ] || die "this runs on Linux only"
[ "$(id -u)" = 0 ] || die "containers, mounts and cgroups need root: run it again as root (sudo npm run $purpose)"
have npm || die "npm is missing: install Node 20 or newer with npm (apt-get install nodejs npm)"

# A tty-less apt must never ask, and waits for another apt instead of failing. What it downloads into this folder its own user could not write.
apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@" </dev/null; }

has_cni() { for d in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do [ -x "$d/bridge" ] && [ -x "$d/portmap" ] && [ -x "$d/host-local" ] && [ -x "$d/loopback" ] && return 0; done; return 1; }

missing=''
need() { # need PACKAGE WHY
  missing="$missing $1"
  say "needs $1: $2"
}
have containerd && have ctr || need containerd "the container runtime"
have runc || have containerd || need runc "starts containers for containerd"
if have containerd && ! have runc; then need runc "starts containers for containerd"; fi
has_cni || need containernetworking-plugins "the pods' network (bridge, host-local, portmap)"
have iptables || need iptables "host ports and the way out of the pods' network"
have nft || need nftables "network policies"
have conntrack || need conntrack "UDP clients of services whose endpoints change"
have ip || need iproute2 "the pods' bridge"
have mount && have umount || need mount "volumes"
have flock || need util-linux "locks"
have docker-registry || need docker-registry "a registry on loopback, from which the node pulls"
if [ "$purpose" = test ]; then
  have htpasswd || need apache2-utils "the registry's password file"
  have openssl || need openssl "the registry's certificate"
  have kubectl || need kubernetes-client "the control plane is tested with the real kubectl"
  have etcd || need etcd-server "the control plane's store on etcd is tested against a real one"
  have chromium-headless-shell || need chromium-headless-shell "the page of the node is tested in a real browser"
  { have dockerd && have docker; } || need docker.io "the dockershim is tested on a real Docker Engine"
  have mkfs.ext4 || need e2fsprogs "the full-disk test uses a small loop device"
fi

# Package scripts start what they install; policy-rc.d is Debian's way to say no. One that is there already stays as it is.
policy=/usr/sbin/policy-rc.d
made_policy=''
remove_policy() { if [ -n "$made_policy" ]; then rm -f "$policy"; fi; made_policy=''; }
trap remove_policy EXIT
trap 'exit 130' INT TERM HUP
refuse_services() {
  [ -e "$policy" ] && return 0
  printf '#!/bin/sh\n# Put here for a moment by kubelet-ts while it installs packages.\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  made_policy=yes
}

# Fresh lists only when the old ones do not do.
apt_try() { apt "$@" || { say "refreshing the package lists"; apt update && apt "$@"; }; }

if [ -n "$missing" ]; then
  have apt-get || die "missing:$missing. There is no apt-get here: install them with your system's tools and run this again"
  say "installing:$missing"
  refuse_services
  # shellcheck disable=SC2086
  apt_try install --no-install-recommends $missing || die "apt-get could not install:$missing. Its words above say why"
  remove_policy
  # Installed by us, so ours to keep from starting at the next boot; `up` starts a containerd of its own.
  if have systemctl && [ -d /run/systemd/system ]; then
    for service in containerd docker-registry etcd; do
      case " $missing " in *" $service "* | *" $service-server "*) systemctl disable --now "$service" >/dev/null 2>&1 && say "the $service service is switched off: kubelet-ts starts its own" || true ;; esac
    done
    case " $missing " in *" docker.io "*) systemctl disable --now docker.socket docker >/dev/null 2>&1 && say "the docker service is switched off: the tests start their own" || true ;; esac
  fi
fi

# Debian's busybox and busybox-static exclude each other, so a missing static one is only unpacked, never installed.
# A dynamic program asks for a loader by name; a static one names none.
is_static() { [ -x "$1" ] && ! head -c 4096 "$1" | grep -q 'ld-linux\|ld-musl'; }
if ! is_static /bin/busybox && ! is_static /usr/bin/busybox && ! is_static .data/busybox-static/bin/busybox && ! is_static .data/busybox-static/usr/bin/busybox; then
  have apt-get || die "no static busybox, and no apt-get to fetch it: put one at .data/busybox-static/bin/busybox"
  say "fetching busybox-static: the images are built from it"
  mkdir -p .data/busybox-static
  (
    cd .data
    rm -f busybox-static_*.deb
    apt_try download busybox-static
    dpkg-deb -x busybox-static_*.deb busybox-static
    rm -f busybox-static_*.deb
  ) || die "could not fetch busybox-static"
fi

# In the busybox of the cluster's registry names have to be looked up, which a static one cannot: Debian's dynamic one, unpacked as well.
if ! [ -x .data/busybox/bin/busybox ] && ! [ -x .data/busybox/usr/bin/busybox ] && have apt-get; then
  say "fetching busybox: the image busybox is built from it"
  mkdir -p .data/busybox
  (
    cd .data
    rm -f busybox_*.deb
    apt_try download busybox
    dpkg-deb -x busybox_*.deb busybox
    rm -f busybox_*.deb
  ) || die "could not fetch busybox"
fi

# The nginx image is made of Debian's nginx; one that is installed is used as it is, else it is only unpacked: nothing of it runs on the machine.
nginx=.data/nginx/usr/sbin/nginx
if ! [ -x /usr/sbin/nginx ] && ! [ -x "$nginx" ] && have apt-get; then
  say "fetching nginx: the example's image is built from it"
  mkdir -p .data/nginx
  (
    cd .data
    rm -f nginx_*.deb
    apt_try download nginx
    dpkg-deb -x nginx_*.deb nginx
    rm -f nginx_*.deb
  ) || die "could not fetch nginx"
  if ldd "$nginx" | grep -q 'not found'; then
    say "installing the libraries it needs"
    refuse_services
    apt_try install --no-install-recommends libssl3 libpcre2-8-0 libcrypt1 zlib1g || die "could not install nginx's libraries"
    remove_policy
  fi
fi

# node_modules is right when npm's own record in it agrees with the lockfile and the pinned Node runs.
if ! node scripts/setup-check-modules.mjs; then
  say "npm ci: node_modules is missing or does not match package-lock.json"
  # Two commands started at once must not empty the folder under each other.
  flock package-lock.json sh -c 'node scripts/setup-check-modules.mjs || npm ci --no-audit --no-fund --loglevel=error' </dev/null || die "npm ci failed. Its words above say why"
fi
[ -x node_modules/.bin/node ] && node_modules/.bin/node --version >/dev/null 2>&1 ||
  die "the pinned Node is not in node_modules (processor $(uname -m)?): supported are x86_64 and aarch64; was npm told to omit optional dependencies?"
