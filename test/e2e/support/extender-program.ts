// A scheduler extender as a program: it rejects nodes with the label `extender=no`, prefers those with `extender=best`,
// does not answer for pods with the label `slow`, and prints its requests.
import { createServer } from 'node:http';

interface Args {
  readonly Pod: { readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> } };
  readonly Nodes: {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
    }[];
  };
}

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  request.on('end', () => {
    const { Pod, Nodes } = JSON.parse(text) as Args;
    process.stdout.write(`${request.url ?? ''} ${Pod.metadata.name}\n`);
    if (Pod.metadata.labels?.['slow'] !== undefined) return;
    const label = (index: number): string | undefined => Nodes.items[index]?.metadata.labels?.['extender'];
    const answer =
      request.url === '/x/prioritize'
        ? Nodes.items.map(({ metadata }, index) => ({ Host: metadata.name, Score: label(index) === 'best' ? 10 : 0 }))
        : {
            Nodes: { items: Nodes.items.filter((_, index) => label(index) !== 'no') },
            FailedNodes: Object.fromEntries(
              Nodes.items
                .filter((_, index) => label(index) === 'no')
                .map(({ metadata }) => [metadata.name, 'node(s) were refused by the extender']),
            ),
          };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'));
