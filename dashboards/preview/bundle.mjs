// Bundles the page: dist/page.js and dist/page.css. What Grafana's packages import and no panel calls becomes an empty stand-in.
import { build } from 'esbuild';

const unused = /^(monaco-editor|@monaco-editor|ol(\/|$)|@opentelemetry|@grafana\/faro)/;
const standIn = `const nothing = new Proxy(function () {}, {
	get: (target, name) => (name === '__esModule' ? false : nothing), apply: () => nothing, construct: () => nothing,
});
module.exports = nothing;`;

await build({
	entryPoints: ['page.jsx'], outfile: process.argv[2] ?? 'dist/page.js', bundle: true, minify: true, format: 'iife', target: 'chrome114', logLevel: 'warning',
	define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}', global: 'globalThis' },
	loader: { '.svg': 'dataurl', '.png': 'dataurl', '.ttf': 'empty' },
	plugins: [{
		name: 'leave-out',
		setup(esbuild) {
			esbuild.onResolve({ filter: unused }, ({ path }) => ({ path, namespace: 'unused' }));
			esbuild.onLoad({ filter: /.*/, namespace: 'unused' }, () => ({ loader: 'js', contents: standIn }));
		},
	}],
});
