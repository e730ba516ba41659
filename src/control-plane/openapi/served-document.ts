/** What a client asks for: the path and its Accept header. */
export interface OpenApiRequest {
  readonly path: string;
  readonly accept: string | undefined;
  /** `?hash=` of version 3: who asks with the hash of what is there may keep the answer forever. */
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
   * The document of a path; undefined when there is none. Rejects with `ApiStatusError` NotAcceptable when no form of
   * it is accepted.
   */
  get(request: OpenApiRequest): Promise<OpenApiDocument | undefined>;
  /** For the list at `/`. */
  readonly paths: () => readonly string[];
}
