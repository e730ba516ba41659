/** The images `nginx` and `busybox`, from Debian's programs. Pure: the caller reads the files. */
import type { Family } from '../ip-families.ts';
import type { BusyboxImageOptions } from './catalogue.ts';
import { busyboxImage } from './catalogue.ts';
import type { OciImage } from './oci-image.ts';
import type { TarEntry } from './tar.ts';

/** A program and its shared libraries, by the paths from which it loads them. */
export interface DynamicProgram {
  readonly binary: Buffer;
  readonly libraries: readonly { readonly path: string; readonly content: Buffer }[];
}

const PAGE = `<!doctype html>
<title>Welcome to nginx!</title>
<h1>Welcome to nginx!</h1>
<p>This page is served by one of three pods of a Deployment. The header X-Served-By says which.</p>
`;

/** Debian's nginx has these paths compiled in: /etc/nginx, /var/log/nginx, /var/lib/nginx. */
/** `sockets`: what nginx listens on. A kernel without IPv6 refuses IPv6 sockets. */
const configOf = (sockets: readonly string[]): string => `user www-data www-data;
worker_processes 1;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events { worker_connections 1024; }
http {
  types { text/html html htm; text/css css; text/plain txt; application/javascript js; image/svg+xml svg; image/png png; }
  default_type application/octet-stream;
  access_log /var/log/nginx/access.log combined;
  sendfile on;
  server {
${sockets.map((socket) => `    listen ${socket};\n`).join('')}    root /usr/share/nginx/html;
    add_header X-Served-By $hostname always;
    location / { index index.html; }
  }
}
`;

/** A `busybox` that can resolve names, as users expect. */
export function dynamicBusyboxImage(
  options: Pick<BusyboxImageOptions, 'reference' | 'nodeArch' | 'busybox'>,
  busybox: DynamicProgram,
): OciImage {
  return busyboxImage({
    ...options,
    busybox: { ...options.busybox, binary: busybox.binary },
    command: ['sh'],
    extraLayers: [libraryFiles(busybox)],
  });
}

const libraryFiles = ({ libraries }: DynamicProgram): TarEntry[] =>
  libraries.map(({ path, content }) => ({ kind: 'file', path: path.slice(1), content, mode: 0o755 }));

/** Based on a small system with a shell, as in the well-known image of this name, so that `kubectl exec` works. */
export function nginxImage(
  options: Pick<BusyboxImageOptions, 'reference' | 'nodeArch' | 'busybox'>,
  nginx: DynamicProgram,
  families: readonly Family[] = ['IPv4'],
): OciImage {
  const folders = [
    'usr',
    'usr/sbin',
    'usr/share',
    'usr/share/nginx',
    'usr/share/nginx/html',
    'etc/nginx',
    'var',
    'var/log',
    'var/log/nginx',
    'var/lib',
    'var/lib/nginx',
    'run',
  ];
  const files: TarEntry[] = [
    ...folders.map((path): TarEntry => ({ kind: 'directory', path })),
    ...libraryFiles(nginx),
    { kind: 'file', path: 'usr/sbin/nginx', content: nginx.binary, mode: 0o755 },
    {
      kind: 'file',
      path: 'etc/nginx/nginx.conf',
      // Port-forward connects to 127.0.0.1 in both families.
      content: configOf(['80', ...(families.includes('IPv6') ? ['[::]:80'] : [])]),
    },
    { kind: 'file', path: 'usr/share/nginx/html/index.html', content: PAGE },
    { kind: 'symlink', path: 'var/log/nginx/access.log', target: '/dev/stdout' },
    { kind: 'symlink', path: 'var/log/nginx/error.log', target: '/dev/stderr' },
  ];
  // Debian's nginx runs as www-data.
  const users =
    'root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\nweb:x:1000:1000:web:/www:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n';
  const accounts: TarEntry[] = [
    { kind: 'file', path: 'etc/passwd', content: users },
    { kind: 'file', path: 'etc/group', content: 'root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\nweb:x:1000:\n' },
  ];
  return busyboxImage({
    ...options,
    command: ['nginx', '-g', 'daemon off;'],
    extraLayers: [files, accounts],
    stopSignal: 'SIGQUIT',
  });
}
