import { errorMessage, isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ServiceRoute } from './compute-routes.ts';
import type { FlowTable } from './stale-flows.ts';
import { selectStaleFlows, udpEndpoints } from './stale-flows.ts';

/** Each deletion starts a process. The next change deletes the rest, or the kernel does when the flow times out. */
const MAX_REMOVALS = 500;

/**
 * Deletes conntrack entries of UDP flows whose endpoints have changed. Call it after the rules are written: a flow that
 * is deleted earlier would be tracked again with the old rules. Never rejects; a failed deletion is tried again.
 */
export class FlowCleaner {
  readonly #flows: FlowTable;
  readonly #family: 'ipv4' | 'ipv6';
  readonly #log: Logger;
  #before: ReadonlySet<string> | undefined;
  #isMissing = false;

  constructor(flows: FlowTable, family: 'ipv4' | 'ipv6', log: Logger) {
    this.#flows = flows;
    this.#family = family;
    this.#log = log;
  }

  async clean(routes: readonly ServiceRoute[]): Promise<void> {
    if (this.#isMissing) return;
    const endpoints = udpEndpoints(routes);
    const before = this.#before;
    if (before !== undefined && before.size === endpoints.size && [...endpoints].every((each) => before.has(each)))
      return;
    try {
      const stale = selectStaleFlows(await this.#flows.list(this.#family), routes);
      for (const flow of stale.slice(0, MAX_REMOVALS)) await this.#flows.remove(this.#family, flow);
      if (stale.length > 0) this.#log.info('removed UDP flows to endpoints that are gone', { flows: stale.length });
      if (stale.length <= MAX_REMOVALS) this.#before = endpoints;
    } catch (error) {
      this.#isMissing = isKind(error, 'NotFound');
      this.#log.warn('cannot remove UDP flows to endpoints that are gone', { error: errorMessage(error) });
    }
  }
}
