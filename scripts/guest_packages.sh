# Sourced by the scripts that bring emulated machines for tests: installs Debian packages, as root, or says how.
# shellcheck shell=bash

# install_packages TARGET PACKAGE...: the make target that needs them. Does nothing without packages.
install_packages() {
  local target=$1
  shift
  [ $# -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    echo "$target: only root can install packages. Run this, then 'make $target' again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $*" >&2
    exit 1
  fi
  echo "$target: installing $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null
  apt-get install -y -q --no-install-recommends "$@" </dev/null >/dev/null
}
