// Serves the page, and the icons and fonts that Grafana's components ask for, on loopback.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const icons = path.join(here, 'node_modules/@grafana/ui/dist/public/img');
const inter = '/usr/share/fonts/opentype/inter'; // Debian's fonts-inter
const types = { '.html': 'text/html; charset=utf-8', '.png': 'image/png', '.svg': 'image/svg+xml', '.otf': 'font/otf' };

function fileOf(folder, pathname) {
	const image = pathname.split('/img/')[1];

	if (pathname === '/' || pathname.startsWith('/d/')) return path.join(folder, 'index.html');
	if (image) return path.join(icons, path.normalize(`/${image}`));
	if (pathname.includes('/fonts/')) return path.join(inter, path.basename(pathname).replace(/woff2?$/, 'otf'));
	return path.join(folder, path.basename(pathname));
}

export const serve = (folder, port = 0) => new Promise(resolve => {
	const server = http.createServer((request, response) => {
		const file = fileOf(folder, decodeURIComponent(new URL(request.url, 'http://preview').pathname));
		fs.readFile(file, (error, bytes) => {
			response.writeHead(error ? 404 : 200, { 'content-type': types[path.extname(file)] ?? 'application/octet-stream' });
			response.end(error ? '' : bytes);
		});
	});
	server.listen(port, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() }));
});
