import { errorMessage } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { GuardVerdict, RequestGuard } from '../../../ports/request-guard.ts';
import type { Authenticator, Authorizer, UserInfo } from './auth-types.ts';
import { routeAttributes } from './route-attributes.ts';

/**
 * Creates the authentication and authorization of every path of the secure server, including `/healthz` (upstream:
 * InstallAuthFilter, which has the same messages).
 */
export function createRequestGuard({
  authenticator,
  authorizer,
  log,
}: {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly log: Logger;
}): RequestGuard {
  return {
    check: async (request) => {
      const who = await authenticator.authenticate(request);
      if (who.outcome === 'failed')
        log.error('Unable to authenticate the request due to an error', { error: who.error });
      if (who.outcome !== 'user') return { outcome: 'refused', status: 401, body: 'Unauthorized' };
      return authorize(authorizer, who.user, request, log);
    },
  };
}

async function authorize(
  authorizer: Authorizer,
  user: UserInfo,
  { method, path, isUpgrade }: { readonly method: string; readonly path: string; readonly isUpgrade: boolean },
  log: Logger,
): Promise<GuardVerdict> {
  const { verb, subresources } = routeAttributes(method, path, isUpgrade);
  for (const subresource of subresources) {
    try {
      if ((await authorizer.authorize(user, { verb, subresource, path })) === 'allowed')
        return { outcome: 'allowed', user };
    } catch (error) {
      log.error('Authorization error', {
        user: user.name,
        verb,
        resource: 'nodes',
        subresource,
        error: errorMessage(error),
      });
      return {
        outcome: 'refused',
        status: 500,
        body: `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource})`,
      };
    }
  }
  log.debug(2, 'Forbidden', { user: user.name, verb, resource: 'nodes', subresources });
  return {
    outcome: 'refused',
    status: 403,
    body: `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`,
  };
}
