/** A request for a document: the path and the Accept header. */
export interface OpenApiRequest {
  readonly path: string;
  readonly accept: string | undefined;
  /** `?hash=` of version 3: a response for the current hash can be cached forever. */
  readonly query?: URLSearchParams;
}

export interface OpenApiDocument {
  readonly contentType: string;
  readonly body: string | Uint8Array;
  /** With its quotes. */
  readonly etag: string;
  readonly cacheControl?: string;
}

export interface OpenApiDocuments {
  /**
   * The document of a path; undefined when there is none. Rejects with `ApiStatusError` NotAcceptable if the client
   * accepts no available encoding.
   */
  get(request: OpenApiRequest): Promise<OpenApiDocument | undefined>;
  /** For the list at `/`. */
  readonly paths: () => readonly string[];
}
