/** A request for a document: the path and the Accept header. */
export interface OpenApiRequest {
  readonly path: string;
  readonly accept: string | undefined;
  /** The query. With `?hash=` of version 3, a response for the current hash can be cached forever. */
  readonly query?: URLSearchParams;
}

export interface OpenApiDocument {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** The ETag with its quotes. */
  readonly etag: string;
  readonly cacheControl?: string;
}

export interface OpenApiDocuments {
  /**
   * Returns the document of a path; undefined if there is none. Rejects with `ApiStatusError` NotAcceptable if the
   * client accepts no available encoding.
   */
  get(request: OpenApiRequest): Promise<OpenApiDocument | undefined>;
  /** Returns the paths, for the list at `/`. */
  readonly paths: () => readonly string[];
}
