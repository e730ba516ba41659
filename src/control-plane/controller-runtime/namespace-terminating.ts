import { isApiError } from '../../api/status/api-status-error.ts';

/** Whether the API refused a creation because the namespace is terminating; then there is nothing left to do there. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isApiError(error, 'Forbidden') &&
    (error.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}
