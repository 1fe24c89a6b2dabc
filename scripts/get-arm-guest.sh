#!/usr/bin/env bash
# Brings what tests/guests need, which 'make setup' leaves out: an emulator, a cross compiler, and a kernel for aarch64, which
# goes to build/arm-guest/vmlinuz. All three are Debian packages. Says nothing and takes no time where nothing is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
place=$root/build/arm-guest

source "$root/scripts/guest_packages.sh"
packages=()
command -v qemu-system-aarch64 >/dev/null || packages+=(qemu-system-arm)
command -v aarch64-linux-gnu-g++ >/dev/null || packages+=(g++-aarch64-linux-gnu)
install_packages arm-guest "${packages[@]}"
[ ! -e "$place/vmlinuz" ] || exit 0

# Packages for aarch64 through a state of apt's own: this system's list of architectures stays as it is.
echo "arm-guest: downloading a kernel"
mkdir -p "$place"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial}
: >"$work/status"
cat >"$work/conf" <<END
APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Sandbox::User "root";
Dir::State "$work"; Dir::State::Lists "$work/lists"; Dir::State::status "$work/status"; Dir::Cache "$work/cache";
DPkg::Post-Invoke {};
END
export APT_CONFIG=$work/conf
apt-get -qq update
image=$(apt-cache depends linux-image-arm64 | awk '/Depends: linux-image-/ {print $2; exit}')
(cd "$work" && apt-get -qq download "$image")
dpkg --fsys-tarfile "$work"/linux-image-*.deb | tar -C "$work" -x --wildcards './boot/vmlinuz-*'
mv "$work"/boot/vmlinuz-* "$place/vmlinuz.new"
mv "$place/vmlinuz.new" "$place/vmlinuz"
