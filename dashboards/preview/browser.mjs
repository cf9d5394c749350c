// The page in headless Chromium: waiting for what it shows, and what can be seen to be wrong without eyes.
import { chromium } from 'playwright-core';

const launchArguments = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync'];

export const openBrowser = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: launchArguments });

// As long as a busy machine may need; what does not come by then does not come.
const patience = 300000;

// A page that reports script errors to `failed`.
export async function openPage(browser, width, failed) {
	const page = await browser.newPage({ viewport: { width, height: 1000 }, timezoneId: 'UTC', locale: 'en-US' });

	page.setDefaultTimeout(patience);
	page.on('pageerror', error => failed.push(`${width} px: ${error.stack}`));
	page.on('console', message => {
		if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) failed.push(`${width} px: ${message.text()}`);
	});
	return page;
}

export async function showsDashboard(page, uid, chosen = {}) {
	const wanted = JSON.stringify({ uid, chosen });

	await page.waitForFunction(text => [text, 'failed'].includes(window.previewShows), wanted, { timeout: patience });
	if (await page.evaluate(() => window.previewShows) === 'failed') throw new Error(`${uid} was not drawn`);
	// Tables draw only the lines that are in view, so all of the page must be.
	const height = await page.evaluate(() => document.documentElement.scrollHeight);
	await page.setViewportSize({ width: page.viewportSize().width, height });
	await page.waitForFunction(() => [...document.querySelectorAll('[data-type="table"]')]
		.every(panel => panel.querySelector('[data-empty]') || panel.querySelectorAll('[role="row"] [role="gridcell"]').length > 0), null, { timeout: patience });
}

// Text that is cut off (but paths and names may be longer than any column), plots without a pixel, panels over one another.
export const faults = page => page.evaluate(() => {
	const panels = [...document.querySelectorAll('[data-panel]')], found = [];
	const cut = element => element.clientWidth && element.textContent.length <= 60 && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible';
	const blank = canvas => !canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(byte => byte);

	for (const [i, panel] of panels.entries()) {
		const a = panel.getBoundingClientRect(), name = `panel ${panel.dataset.panel}, ${innerWidth} px`;
		for (const element of panel.querySelectorAll('*')) if (cut(element)) found.push(`${name}: cut off "${element.textContent.slice(0, 40)}"`);
		for (const canvas of panel.querySelectorAll('.uplot canvas')) if (blank(canvas)) found.push(`${name}: nothing drawn`);
		for (const other of panels.slice(i + 1)) {
			const b = other.getBoundingClientRect();
			if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push(`${name}: overlaps panel ${other.dataset.panel}`);
		}
	}
	return found;
});
