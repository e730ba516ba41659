/** The kind of a structured configuration file. */
export type AccessFile = 'authentication' | 'authorization';

/** The result of a call to an authorization webhook. */
export type WebhookResult = 'success' | 'timeout' | 'error';

/** Observes authentication and authorization, for the metrics. */
export interface AccessObserver {
  /** Called with the content that is in use since the start. */
  loaded(file: AccessFile, content: string): void;
  /** Called for a changed file: with its content if it is used from now on, else with undefined. */
  reloaded(file: AccessFile, content: string | undefined): void;
  jwtJudged(issuer: string, isUser: boolean, tookMs: number): void;
  /** Called after keys were fetched; undefined means that the fetch failed. */
  keysFetched(issuer: string, keys: unknown): void;
  /** Called when the issuer was removed from the configuration. */
  issuerRemoved(issuer: string): void;
  webhookAsked(authorizer: string, result: WebhookResult, tookMs: number): void;
  /** Called when there was no answer and the next authorizers decided. */
  webhookFailedOpen(authorizer: string, result: WebhookResult): void;
  conditionsJudged(authorizer: string, result: 'match' | 'excluded' | 'error', tookMs: number): void;
}
