import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecordingTracer } from '../../../base/testing/recording-tracer.ts';
import { fakeRequest } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';

describe('traces of requests', () => {
  const namesOf = async (...requests: readonly Parameters<typeof fakeRequest>[]): Promise<RecordingTracer> => {
    const tracer = new RecordingTracer();
    const { server } = fixture({ tracer });
    for (const request of requests) {
      const http = fakeRequest(...request);
      await server.handle(http);
      http.finish();
    }
    return tracer;
  };

  it('are named after the resource without object names, and end with the response status', async () => {
    const { spans } = await namesOf(
      ['GET', '/api/v1/namespaces/default/pods'],
      ['GET', '/api/v1/namespaces/default/pods/none'],
      ['GET', '/apis/apps/v1/deployments'],
      ['GET', '/version'],
    );
    assert.deepEqual(
      spans.map(({ name, kind, attributes, ended }) => [name, kind, attributes['http.response.status_code'], ended]),
      [
        ['GET /api/v1/namespaces/{:namespace}/pods', 'server', 200, true],
        ['GET /api/v1/namespaces/{:namespace}/pods/{:name}', 'server', 404, true],
        ['GET /apis/apps/v1/deployments', 'server', spans[2]?.attributes['http.response.status_code'], true],
        ['GET', 'server', 200, true],
      ],
    );
    assert.match(String(spans[0]?.attributes['audit-id']), /^[0-9a-f-]{36}$/);
  });

  it('continue traces of clients; for untrusted clients they are only linked', async () => {
    const headers = { traceparent: 't', cookie: 'secret' };
    const { spans } = await namesOf(['GET', '/version', { headers }]);
    assert.deepEqual(
      spans.map(({ incoming, isPublic }) => [incoming, isPublic]),
      [[{ traceparent: 't' }, true]],
    );
  });
});
