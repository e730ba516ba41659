import { ExportResultCode } from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { errorMessage } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { GrpcChannel } from '../grpc/grpc-channel.ts';

const PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const EXPORT_LIMIT_MS = 10_000;

/**
 * Sends spans by OTLP. A batch that the collector rejects is lost. The first failure after a success is logged, and so
 * is the next success.
 */
export function createOtlpExporter(channel: Pick<GrpcChannel, 'unary' | 'close'>, log: Logger): SpanExporter {
  let failing = false;
  return {
    export: (spans, done) => {
      const request = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
      channel.unary({ op: 'Export', path: PATH, request, timeoutMs: EXPORT_LIMIT_MS }).then(
        () => {
          if (failing) log.info('traces are sent again');
          failing = false;
          done({ code: ExportResultCode.SUCCESS });
        },
        (error: Error) => {
          if (!failing) log.warn('traces cannot be sent', { error: errorMessage(error) });
          failing = true;
          done({ code: ExportResultCode.FAILED, error });
        },
      );
    },
    shutdown: () => Promise.resolve(channel.close()),
  };
}
