/** Servers that cannot send metadata alone send the whole objects (upstream: client-go metadata). */
const asMetadata = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;

export const ACCEPT_METADATA_LIST = asMetadata('PartialObjectMetadataList');
export const ACCEPT_METADATA = asMetadata('PartialObjectMetadata');
