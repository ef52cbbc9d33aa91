#!/bin/sh
# Keeps a log of who applied what, in the order in which it happened.
cd "$(dirname "$0")/../.." || exit
echo "$AWS_PROFILE applied $ASSIZE_STACK" >>.cloud/log
