// Run in a page of the server that has the files. Each file is played for a second, sought to three quarters and to a quarter, then played
// to its end; a frame is hashed after each seek.
const stepMilliseconds = 15000;

// The event `name` of `element`, or a failure when the element reports an error or nothing happens.
function once(element, name) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no ${name}`)), stepMilliseconds);
        element.addEventListener(name, () => { clearTimeout(timer); resolve(); }, { once: true });
        element.addEventListener("error", () => {
            clearTimeout(timer);
            reject(new Error(`media error ${element.error?.code}: ${element.error?.message}`));
        }, { once: true });
    });
}

function until(element, seconds) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`never reached ${seconds} s`)), stepMilliseconds);
        element.addEventListener("timeupdate", function check() {
            if (element.currentTime < seconds) return;
            clearTimeout(timer);
            element.removeEventListener("timeupdate", check);
            resolve();
        });
    });
}

async function hex(buffer) {
    const digest = await crypto.subtle.digest("SHA-256", buffer);
    return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, "0")).join("");
}

async function seek(element, seconds) {
    const seeked = once(element, "seeked");
    // The first frame of the film may be presented meanwhile, and is not the one that is meant.
    const isMeant = frame => Math.abs(frame.mediaTime - seconds) < 0.2;
    const watch = done => element.requestVideoFrameCallback((_, frame) => isMeant(frame) ? done() : watch(done));
    const presented = element.requestVideoFrameCallback
        ? Promise.race([new Promise(watch), new Promise(done => setTimeout(done, 1000))])
        : Promise.resolve();
    element.currentTime = seconds;
    await seeked;
    if (!(element instanceof HTMLVideoElement)) return { seconds: element.currentTime };
    await presented;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [240, 135];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(element, 0, 0, canvas.width, canvas.height);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    return { seconds: element.currentTime, frame: await hex(pixels) };
}

async function play({ name, kind, url }) {
    const element = document.createElement(kind);
    element.preload = "auto";
    document.body.append(element);
    try {
        const loaded = once(element, "loadedmetadata");
        element.src = url;
        await loaded;
        const started = until(element, 1);
        await element.play();
        await started;
        element.pause();
        const seeks = [await seek(element, element.duration * 0.75), await seek(element, element.duration * 0.25)];
        await seek(element, element.duration - 0.5);
        const ended = once(element, "ended");
        await element.play();
        await ended;
        const body = await (await fetch(url, { cache: "no-store" })).arrayBuffer();
        return { name, duration: element.duration, seeks, ended: element.ended, bytes: body.byteLength, sha256: await hex(body) };
    } catch (error) {
        return { name, error: `${error.message} at ${element.currentTime} s of ${element.duration}` };
    } finally {
        element.removeAttribute("src");
        element.load();
        element.remove();
    }
}

// Plays a stream for a second, seeks twice and plays it to its end.
async function playStream(url) {
    const element = document.createElement("video");
    element.preload = "auto";
    element.crossOrigin = "anonymous";
    document.body.append(element);
    try {
        const loaded = once(element, "loadedmetadata");
        element.src = url;
        await loaded;
        const started = until(element, 1);
        await element.play();
        await started;
        element.pause();
        const duration = Math.round(element.duration);
        const frames = [];
        for (const seconds of [17, 5]) frames.push((await seek(element, seconds)).frame);
        await seek(element, element.duration - 0.5);
        const ended = once(element, "ended");
        await element.play();
        await ended;
        return { duration, frames, ended: element.ended };
    } catch (error) {
        return { error: `${error.message} at ${element.currentTime} s of ${element.duration}` };
    }
}

async function playAll(files) {
    const results = [];
    for (const file of files) results.push(await play(file));
    return results;
}
