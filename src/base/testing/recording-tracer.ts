import { AsyncLocalStorage } from 'node:async_hooks';
import { errorMessage } from '../errors.ts';
import type { Span, SpanStart, SpanValue, Tracer } from '../tracer.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly scope: string;
  readonly kind: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, SpanValue>;
  readonly incoming: Readonly<Record<string, string>> | undefined;
  readonly isPublic: boolean;
  error: string | undefined;
  ended: boolean;
}

/** Stores spans in the order of their starts; `traceparent` is the span's name. */
export class RecordingTracer implements Tracer {
  readonly spans: RecordedSpan[] = [];
  readonly #current = new AsyncLocalStorage<RecordedSpan>();

  begin(start: SpanStart): Span {
    return this.#span(this.#record(start));
  }

  async during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const record = this.#record(start);
    const span = this.#span(record);
    try {
      return await this.#current.run(record, () => work(span));
    } catch (error) {
      span.fail(error);
      throw error;
    } finally {
      span.end();
    }
  }

  #record({ name, scope, kind = 'internal', attributes = {}, incoming, isPublic = false }: SpanStart): RecordedSpan {
    const record: RecordedSpan = {
      name,
      scope,
      kind,
      parent: this.#current.getStore()?.name,
      attributes: { ...attributes },
      incoming,
      isPublic,
      error: undefined,
      ended: false,
    };
    this.spans.push(record);
    return record;
  }

  #span(record: RecordedSpan): Span {
    return {
      set: (attributes) => void Object.assign(record.attributes, attributes),
      fail: (error) => void (record.error ??= errorMessage(error)),
      headers: () => ({ traceparent: record.name }),
      end: () => void (record.ended = true),
    };
  }
}
