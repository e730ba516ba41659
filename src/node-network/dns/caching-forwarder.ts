import type { Clock } from '../../base/clock.ts';
import type { AnswerCache } from './answer-cache.ts';
import { questionIdentity } from './forward-plan.ts';
import type { Forwarder } from './name-service.ts';

/** Forwards only queries that the cache cannot answer, and equal ones once at a time. */
export function createCachingForwarder(
  forwarder: Forwarder,
  cache: AnswerCache,
  clock: Pick<Clock, 'monotonicMs'>,
): Forwarder {
  const underWay = new Map<string, Promise<Buffer>>();
  return {
    ask: async (question, transport) => {
      const known = cache.find(question, clock.monotonicMs());
      if (known !== undefined) return known;
      const identity = questionIdentity(question);
      const key = `${transport} ${identity?.key ?? ''}`;
      const other = identity === undefined ? undefined : underWay.get(key);
      if (identity !== undefined && other !== undefined) {
        const answer = Buffer.from(await other);
        question.copy(answer, 0, 0, 2);
        if (answer.length >= identity.end) question.copy(answer, 12, 12, identity.end);
        return answer;
      }
      const asked = forwarder.ask(question, transport);
      if (identity !== undefined) underWay.set(key, asked);
      try {
        const answer = await asked;
        cache.store(question, answer, clock.monotonicMs());
        return answer;
      } finally {
        underWay.delete(key);
      }
    },
    isOwn: (message) => forwarder.isOwn(message),
  };
}
