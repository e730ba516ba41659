import type {
  CustomResourceDefinition,
  WebhookConversion,
} from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import { nextTurn } from '../../base/turn.ts';
import type { ConversionQuestion } from './conversion-review.ts';
import { conversionReview, convertedObjects } from './conversion-review.ts';
import type { ConvertObjects } from './convert-object.ts';

type ClientConfig = NonNullable<WebhookConversion['clientConfig']>;

export interface ConversionCalls {
  /** Sends a review to the webhook of the definition with a timeout; resolves to the parsed body. */
  readonly post: (client: ClientConfig, review: object, timeoutSeconds: number) => Promise<unknown>;
  readonly newUid: () => string;
}

/** Upstream's time limit of a call. */
const TIMEOUT_SECONDS = 30;
/**
 * The maximum characters and objects of one review, because each is processed in one turn of the event loop. Longer
 * lists are sent in several.
 */
const MOST_CHARACTERS = 1 << 20;
const MOST_OBJECTS = 10_000;

/** Calls the conversion webhook of a definition. The objects of one call may have several versions. */
export function convertByWebhook(
  { spec: { conversion, names, group } }: CustomResourceDefinition,
  { post, newUid }: ConversionCalls,
): ConvertObjects {
  const { clientConfig = {}, conversionReviewVersions: reviewVersions = [] } = conversion?.webhook ?? {};
  const kindOf = ([first]: readonly ApiObject[]): string => `${first?.apiVersion ?? group}, Kind=${names.kind}`;
  const ask = async (question: ConversionQuestion): Promise<readonly ApiObject[]> => {
    const kind = kindOf(question.objects);
    const review = conversionReview(question);
    let answer: unknown;
    try {
      answer = await post(clientConfig, review, TIMEOUT_SECONDS);
    } catch (error) {
      throw new Error(`conversion webhook for ${kind} failed: ${errorMessage(error)}`, { cause: error });
    }
    return convertedObjects(answer, question, kind);
  };
  return async (objects, apiVersion) => {
    const answers: ApiObject[] = [];
    try {
      for await (const batch of batchesOf(objects))
        answers.push(...(await ask({ objects: batch, apiVersion, uid: newUid(), reviewVersions })));
    } catch (error) {
      throw new ApiStatusError('Unknown', errorMessage(error));
    }
    return answers;
  };
}

async function* batchesOf(objects: readonly ApiObject[]): AsyncIterable<readonly ApiObject[]> {
  let batch: ApiObject[] = [];
  let characters = 0;
  for (const object of objects) {
    const { length } = JSON.stringify(object);
    if (batch.length > 0 && (characters + length > MOST_CHARACTERS || batch.length === MOST_OBJECTS)) {
      yield batch;
      await nextTurn();
      [batch, characters] = [[], 0];
    }
    batch.push(object);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}
