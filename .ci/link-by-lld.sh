#!/bin/sh
# For gcc -wrapper: lld links instead of what GCC names ("collect2"), with the same arguments. GCC's own -fuse-ld=lld has no effect
# where it was built with a fixed linker, as the one for Windows is. What else GCC starts is left as it is.
case $1 in
*/collect2) shift; exec ld.lld "$@" ;;
*) exec "$@" ;;
esac
