import { errorMessage, isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { CallOptions, ImageServiceApi, RuntimeServiceApi } from './cri-api.ts';

/** Much more than any node has. A runtime that sends more is faulty, and would exhaust the memory of the agent. */
const MAX_LISTED = 100_000;

interface StreamedList<Request, Page, Item, Answer> {
  /** The name of the streaming call in the protocol. */
  readonly op: string;
  readonly stream: (request: Request, options?: CallOptions) => AsyncIterable<Page>;
  readonly itemsOf: (page: Page) => readonly Item[];
  readonly toAnswer: (items: Item[]) => Answer;
  /** The call that returns the whole list in one message. */
  readonly list: (request: Request, options?: CallOptions) => Promise<Answer>;
}

/**
 * Reads the lists of sandboxes, containers and their statistics in pages, so that a list may be larger than one message
 * (feature gate CRIListStreaming). An incomplete list is an error. If the runtime does not implement a streaming call,
 * the list is read in one message from then on, until the agent ends (upstream: cri-client remote_runtime.go).
 */
export function streamRuntimeLists(api: RuntimeServiceApi, log: Logger): RuntimeServiceApi {
  return {
    ...api,
    listPodSandbox: streamed(log, {
      op: 'StreamPodSandboxes',
      stream: api.streamPodSandboxes,
      itemsOf: ({ podSandboxes }) => podSandboxes,
      toAnswer: (items) => ({ items }),
      list: api.listPodSandbox,
    }),
    listContainers: streamed(log, {
      op: 'StreamContainers',
      stream: api.streamContainers,
      itemsOf: (page) => page.containers,
      toAnswer: (containers) => ({ containers }),
      list: api.listContainers,
    }),
    listContainerStats: streamed(log, {
      op: 'StreamContainerStats',
      stream: api.streamContainerStats,
      itemsOf: ({ containerStats }) => containerStats,
      toAnswer: (stats) => ({ stats }),
      list: api.listContainerStats,
    }),
  };
}

/** The same as `streamRuntimeLists`, for images. */
export function streamImageLists(api: ImageServiceApi, log: Logger): ImageServiceApi {
  return {
    ...api,
    listImages: streamed(log, {
      op: 'StreamImages',
      stream: api.streamImages,
      itemsOf: (page) => page.images,
      toAnswer: (images) => ({ images }),
      list: api.listImages,
    }),
  };
}

function streamed<Request, Page, Item, Answer>(
  log: Logger,
  { op, stream, itemsOf, toAnswer, list }: StreamedList<Request, Page, Item, Answer>,
): (request: Request, options?: CallOptions) => Promise<Answer> {
  let isImplemented = true;
  return async (request, options) => {
    if (!isImplemented) return list(request, options);
    const items: Item[] = [];
    try {
      for await (const page of stream(request, options)) {
        for (const item of itemsOf(page)) items.push(item);
        if (items.length > MAX_LISTED)
          throw new KubeletError('Internal', `${op}: the runtime sent more than ${MAX_LISTED} items`, { op });
      }
      return toAnswer(items);
    } catch (error) {
      if (isKind(error, 'Unimplemented')) {
        isImplemented = false;
        log.info(`${op} is not implemented by the runtime, lists come in one message`);
        return list(request, options);
      }
      if (!isKind(error, 'Aborted'))
        log.error(`${op} recv failed`, { error: errorMessage(error), itemsReceived: items.length });
      throw error;
    }
  };
}
