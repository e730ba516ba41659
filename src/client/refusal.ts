import type { ApiStatusError } from '../api/status/api-status-error.ts';
import { apiErrorFromStatus } from '../api/status/api-status-error.ts';
import type { Status } from '../api/status/status.ts';

/** The Status of a response, or one made from its code: a proxy in between may not respond with JSON. */
export function refusal(code: number, text: string, retryAfterMs: number | undefined): ApiStatusError {
  const status = asStatus(text) ?? { code, message: `the server answered ${code}: ${text.slice(0, 200)}` };
  if (retryAfterMs === undefined) return apiErrorFromStatus(status);
  return apiErrorFromStatus({
    ...status,
    details: { ...status.details, retryAfterSeconds: status.details?.retryAfterSeconds ?? retryAfterMs / 1000 },
  });
}

function asStatus(text: string): Status | undefined {
  try {
    const status = JSON.parse(text) as Status | null;
    return status?.kind === 'Status' ? status : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
