import { lookupTable } from '../../base/lookup.ts';
import { goQuote } from '../../api/go-quote.ts';
import { forbidden } from '../../api/status/api-status-error.ts';
import type { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from './user-info.ts';

/**
 * Builds the 403 as kubectl shows it: `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the
 * namespace "default"`, with the authorizer's reason, if any.
 */
export function forbiddenRequest(
  attributes: AuthorizationAttributes,
  { reason, evaluationError = '' }: AuthorizationDecision,
): ApiStatusError {
  const { apiGroup, resource, name } = attributes;
  const said = sentence(attributes).replace(/[&<>]/g, (sign) => escaped[sign] ?? sign);
  const why = [reason, evaluationError].filter((each) => each !== '').join('\n');
  return forbidden({ group: apiGroup, plural: resource }, name, why === '' ? said : `${said}: ${why}`);
}

/** The text is HTML-escaped, as in upstream. */
const escaped: Readonly<Record<string, string>> = lookupTable({ '&': '&amp;', '<': '&lt;', '>': '&gt;' });

function sentence({
  user,
  verb,
  resourceRequest,
  path,
  resource,
  subresource,
  apiGroup,
  namespace,
}: AuthorizationAttributes): string {
  const who = `User ${goQuote(user.name)} cannot ${verb}`;
  if (!resourceRequest) return `${who} path ${goQuote(path)}`;
  const what = `resource ${goQuote(subresource === '' ? resource : `${resource}/${subresource}`)} in API group ${goQuote(apiGroup)}`;
  return namespace === ''
    ? `${who} ${what} at the cluster scope`
    : `${who} ${what} in the namespace ${goQuote(namespace)}`;
}
