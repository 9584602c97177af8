// A small DASH player with Media Source Extensions. It plays the kinds of streams of these tests, asks only for what the MPD names, and
// reports the frames after two seeks and the end.

const sleep = seconds => new Promise(done => setTimeout(done, seconds * 1000));

async function load(url, range) {
    const answer = await fetch(url, { cache: "no-store", headers: range ? { Range: `bytes=${range}` } : {} });
    if (!answer.ok) throw new Error(`${answer.status} for ${url}`);
    return answer;
}

// Resolves a reference against the BaseURL elements of an element and those above it.
function resolve(element, text, base) {
    const chain = [];
    for (let level = element; level && level.nodeType === Node.ELEMENT_NODE; level = level.parentNode) {
        const own = [...level.children].find(child => child.localName === "BaseURL");
        if (own) chain.unshift(own.textContent.trim());
    }
    return new URL(text, chain.reduce((url, part) => new URL(part, url).href, base)).href;
}

function inherited(representation, name) {
    for (let level = representation; level && level.nodeType === Node.ELEMENT_NODE; level = level.parentNode) {
        const found = [...level.children].find(child => child.localName === name);
        if (found) return found;
    }
    return null;
}

function seconds(duration) {
    const match = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(duration ?? "");
    return match ? (match[1] ?? 0) * 3600 + (match[2] ?? 0) * 60 + +(match[3] ?? 0) : NaN;
}

function expand(template, representation, number, time) {
    return template.replace(/\$(RepresentationID|Number|Time|Bandwidth)?(?:%0(\d+)d)?\$/g, (_, name, width) => {
        if (!name) return "$";
        const value = { RepresentationID: representation.id, Number: number, Time: time, Bandwidth: representation.getAttribute("bandwidth") };
        return String(value[name]).padStart(+(width ?? 0), "0");
    });
}

// The segments of a representation, the initialization first: pairs of a URL and a byte range.
async function segments(representation, base, length) {
    const at = text => resolve(representation, text, base);
    const template = inherited(representation, "SegmentTemplate");
    if (template) {
        const scale = +(template.getAttribute("timescale") ?? 1);
        let number = +(template.getAttribute("startNumber") ?? 1);
        const media = (number, time) => [at(expand(template.getAttribute("media"), representation, number, time))];
        const list = [[at(expand(template.getAttribute("initialization"), representation))]];
        const timeline = template.querySelector("SegmentTimeline");
        if (!timeline) {
            const count = Math.ceil(length * scale / template.getAttribute("duration"));
            for (let index = 0; index < count; index++) list.push(media(number++, 0));
            return list;
        }
        let time = 0;
        for (const entry of timeline.children) {
            time = +(entry.getAttribute("t") ?? time);
            for (let count = +(entry.getAttribute("r") ?? 0); count >= 0; count--) {
                list.push(media(number++, time));
                time += +entry.getAttribute("d");
            }
        }
        return list;
    }
    const listed = inherited(representation, "SegmentList");
    if (listed) {
        const first = listed.querySelector("Initialization");
        return [[at(first.getAttribute("sourceURL") ?? ""), first.getAttribute("range")]].concat(
            [...listed.querySelectorAll("SegmentURL")].map(entry => [at(entry.getAttribute("media") ?? ""), entry.getAttribute("mediaRange")]));
    }
    const indexed = inherited(representation, "SegmentBase");
    const range = indexed.getAttribute("indexRange");
    const index = new DataView(await (await load(at(""), range)).arrayBuffer());
    const list = [[at(""), indexed.querySelector("Initialization").getAttribute("range")]];
    const wide = index.getUint8(8) === 1;
    let entry = wide ? 40 : 32;
    let offset = +range.split("-")[1] + 1 + (wide ? Number(index.getBigUint64(28)) : index.getUint32(24));
    for (let count = index.getUint16(entry - 2); count > 0; count--, entry += 12) {
        const size = index.getUint32(entry) & 0x7fffffff;
        list.push([at(""), `${offset}-${offset + size - 1}`]);
        offset += size;
    }
    return list;
}

// Applies the operations of a patch to the MPD (RFC 5261), as far as these tests need it.
function patch(mpd, operations) {
    for (const operation of operations.documentElement.children) {
        const path = operation.getAttribute("sel").replace(/\/([A-Za-z]+)/g, "/*[local-name()='$1']");
        const found = mpd.evaluate(path, mpd, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
        if (!found) throw new Error(`no ${operation.getAttribute("sel")}`);
        if (found.nodeType === Node.ATTRIBUTE_NODE) {
            if (operation.localName === "remove") found.ownerElement.removeAttributeNode(found);
            else found.value = operation.textContent;
        } else if (operation.localName === "add") {
            found.append(...[...operation.children].map(child => mpd.importNode(child, true)));
        } else {
            found.replaceWith(mpd.importNode(operation.children[0], true));
        }
    }
}

// The MPD of a stream, and where its updates come from.
class Manifest {
    constructor(url) { this.url = url; this.updates = []; }

    async fetch() {
        const next = this.document?.querySelector("PatchLocation")?.textContent.trim();
        const answer = await load(next ? new URL(next, this.url).href : this.url);
        this.updates.push(answer.status);
        if (answer.status === 204) return;
        const read = new DOMParser().parseFromString(await answer.text(), "application/xml");
        if (read.documentElement.localName === "Patch") return patch(this.document, read);
        this.document = read;
        const location = read.querySelector("Location")?.textContent.trim();
        this.url = new URL(location ?? answer.url, answer.url).href;
    }

    get isLive() { return this.document.documentElement.getAttribute("type") === "dynamic"; }
    get period() { return seconds(this.document.documentElement.getAttribute("minimumUpdatePeriod")); }
}

async function append(buffer, bytes) {
    const done = once(buffer, "updateend");
    buffer.appendBuffer(bytes);
    await done;
}

// Gives an element a source that takes bytes.
async function attach(element) {
    const source = new MediaSource(), opened = once(source, "sourceopen");
    element.src = URL.createObjectURL(source);
    await opened;
    return source;
}

// Loads all segments of a stream. A live one is followed to its end.
async function playDASH(url, types) {
    const element = document.createElement("video");
    document.body.append(element);
    try {
        const source = await attach(element);
        const buffers = types.map(type => source.addSourceBuffer(type));
        const manifest = new Manifest(url), loaded = new Set();
        let bytes = 0;
        for (;;) {
            await manifest.fetch();
            let start = 0;
            for (const period of manifest.document.querySelectorAll("Period")) {
                start = seconds(period.getAttribute("start") ?? "PT0S");
                const length = seconds(period.getAttribute("duration") ?? manifest.document.documentElement.getAttribute("mediaPresentationDuration"));
                for (const [index, set] of [...period.querySelectorAll("AdaptationSet")].entries()) {
                    buffers[index].timestampOffset = start;
                    for (const segment of await segments(set.querySelector("Representation"), manifest.url, length)) {
                        if (loaded.has(segment.join())) continue;
                        loaded.add(segment.join());
                        const content = await (await load(...segment)).arrayBuffer();
                        bytes += content.byteLength;
                        await append(buffers[index], content);
                    }
                }
            }
            if (!manifest.isLive) break;
            await sleep(manifest.period);
        }
        source.endOfStream();
        const frames = [];
        for (const time of [5, 3]) frames.push((await seek(element, time)).frame);
        await seek(element, element.duration - 0.5);
        const ended = once(element, "ended");
        await element.play();
        await ended;
        return { duration: Math.round(element.duration), frames, bytes, segments: loaded.size };
    } catch (error) {
        return { error: `${error.message} at ${element.currentTime} s of ${element.duration}` };
    }
}

// Plays a playlist of HLS with low latency: each part as soon as it is announced, with blocking reloads, to the end of the programme.
async function playLowLatency(url, type) {
    const element = document.createElement("video");
    document.body.append(element);
    try {
        const source = await attach(element);
        const buffer = source.addSourceBuffer(type);
        let query = "", bytes = 0, hint = null;
        const loaded = new Set();
        const take = async address => {
            if (loaded.has(address)) return;
            loaded.add(address);
            const content = await (hint?.address === address ? hint.content : (await load(address)).arrayBuffer());
            bytes += content.byteLength;
            await append(buffer, content);
        };
        for (;;) {
            const answer = await load(url + query), text = await answer.text();
            const at = (line, name) => new URL(new RegExp(`${name}="([^"]*)"`).exec(line)[1], answer.url).href;
            let sequence = 0, part = 0;
            for (const line of text.split("\n")) {
                if (line.startsWith("#EXT-X-MAP")) await take(at(line, "URI"));
                if (line.startsWith("#EXT-X-PART:")) { await take(at(line, "URI")); part++; }
                if (line && !line.startsWith("#")) { sequence++; part = 0; }
                if (line.startsWith("#EXT-X-PRELOAD-HINT")) {
                    const address = at(line, "URI");
                    hint = { address, content: load(address).then(answer => answer.arrayBuffer()) };
                }
            }
            if (text.includes("#EXT-X-ENDLIST")) break;
            query = `?_HLS_msn=${sequence}&_HLS_part=${part}`;
        }
        source.endOfStream();
        const frames = [];
        for (const time of [5, 3]) frames.push((await seek(element, time)).frame);
        return { duration: Math.round(element.duration), frames, bytes };
    } catch (error) {
        return { error: `${error.message} at ${element.currentTime} s of ${element.duration}` };
    }
}
