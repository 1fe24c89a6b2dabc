#!/usr/bin/env bash
# Brings what the guest of two memory nodes needs (tests/guests/test_numa_placement.py), which 'make setup' leaves out: an emulator,
# and a kernel with its modules and a shell, which go to build/numa-guest. All are Debian packages. Says nothing and takes no time
# where nothing is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
place=$root/build/numa-guest

source "$root/scripts/guest_packages.sh"
command -v qemu-system-x86_64 >/dev/null || install_packages numa-guest qemu-system-x86
[ ! -e "$place/kernel" ] || exit 0

echo "numa-guest: downloading a kernel"
mkdir -p "$place"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Not the flavour "cloud": it has no 9p, by which the guest sees this machine's files.
image=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$image" busybox-static)
kernel=lib/modules/*/kernel
dpkg --fsys-tarfile "$work"/linux-image-*.deb | tar -C "$work" -x --wildcards './boot/vmlinuz-*' "./$kernel/drivers/virtio/*" \
  "./$kernel/fs/9p/*" "./$kernel/net/9p/*" "./$kernel/fs/netfs/*" "./$kernel/fs/fscache/*" "./$kernel/fs/overlayfs/*"
dpkg -x "$work"/busybox-static_*.deb "$work/busybox"
cp "$work/busybox/bin/busybox" "$place/busybox"
find "$work/lib/modules" -name '*.ko' -exec cp -t "$place" {} +
# The guest would take seconds to decompress its kernel.
python3 - "$work"/boot/vmlinuz-* "$place/kernel.new" <<'END'
import lzma
import sys

image = open(sys.argv[1], "rb").read()
at = image.find(b"\xfd7zXZ\0")
plain = lzma.LZMADecompressor().decompress(image[at:]) if at > 0 else b""
open(sys.argv[2], "wb").write(plain if plain.startswith(b"\x7fELF") else image)
END
mv "$place/kernel.new" "$place/kernel"
