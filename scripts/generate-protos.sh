#!/bin/sh
# Regenerates src/cri/generated, src/csi/generated, src/devices/generated and src/control-plane/storage/etcd/generated from the proto folders beside them. The output is committed; run this after changing a .proto file.
set -eu
cd "$(dirname "$0")/.."

if ! command -v protoc >/dev/null 2>&1; then
  apt-get update -q
  apt-get install -y -q --no-install-recommends protobuf-compiler
fi

# Type stripping allows no enums and no namespaces: enumsAsLiterals. Times in nanoseconds exceed 2^53: forceLong=bigint.
# Only encode, decode and fromPartial are generated: everything else would be parsed for nothing.
options=$(tr -d ' \n' <<'OPTIONS'
esModuleInterop=true,
importSuffix=.ts,
env=both,
forceLong=bigint,
enumsAsLiterals=true,
unrecognizedEnum=false,
outputServices=generic-definitions,
outputJsonMethods=false,
outputPartialMethods=true,
useExactTypes=false,
useDate=false,
comments=false,
annotateFilesWithVersion=false
OPTIONS
)

for layer in cri csi devices control-plane/storage/etcd; do
  proto_dir=src/$layer/proto
  out_dir=src/$layer/generated
  rm -rf "$out_dir"
  mkdir -p "$out_dir"
  PATH="$PWD/node_modules/.bin:$PATH" protoc \
    --proto_path="$proto_dir" \
    --plugin=protoc-gen-ts_proto="$PWD/node_modules/.bin/protoc-gen-ts_proto" \
    --ts_proto_out="$out_dir" \
    --ts_proto_opt="$options" \
    $(cd "$proto_dir" && ls -- *.proto)
  PATH="$PWD/node_modules/.bin:$PATH" node scripts/share-message-types.ts "$out_dir"
done
