// usage: serve_page.mjs FOLDER     until it is killed
import { serve } from './serve.mjs';

const { url } = await serve(process.argv[2]);
console.log(`Look at ${url}; Ctrl-C ends.`);
