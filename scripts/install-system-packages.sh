#!/usr/bin/env bash
# Installs the Debian packages of apt-packages.txt that are missing. Without root, or without apt, it prints the one
# command that would do it and fails. Says nothing and takes no time where nothing is missing.
#   --list   only print the missing packages
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/sbin:/sbin"   # bpftool lives there

have() {  # have PACKAGES PROBE: is the thing there already?
  local packages=$1 probe=$2 package
  case "$probe" in
    command:*) command -v "${probe#command:}" >/dev/null ;;
    file:*) compgen -G "${probe#file:}" >/dev/null ;;
    *)
      for package in ${packages//|/ }; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed && return 0
      done
      return 1
      ;;
  esac
}

missing=()
while read -r packages probe; do
  case "$packages" in '' | '#'*) continue ;; esac
  have "$packages" "${probe:-}" || missing+=("$packages")
done <"$here/apt-packages.txt"

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${missing[@]}"
  exit 0
fi
[ ${#missing[@]} -gt 0 ] || exit 0

first_choice() {  # first_choice A|B: the first that this release has (the plain first where no list can tell)
  local package
  for package in ${1//|/ }; do
    apt-cache show "$package" >/dev/null 2>&1 && { echo "$package"; return; }
  done
  echo "${1%%|*}"
}

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt. Install what these Debian packages hold, then run 'make setup' again:" >&2
  echo "  ${missing[*]%%|*}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  names=()
  for packages in "${missing[@]}"; do names+=("$(first_choice "$packages")"); done
  echo "setup: packages are missing and only root can install them. Run this, then 'make setup' again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names[*]}" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
echo "setup: installing ${missing[*]}"
apt-get update -q >/dev/null
names=()
for packages in "${missing[@]}"; do names+=("$(first_choice "$packages")"); done
apt-get install -y -q --no-install-recommends "${names[@]}" </dev/null
