import SpoolCore
import Testing

@Suite struct `stored fields` {
    @Test func `fields of one message, connection or user are not stored`() {
        let fields: HTTPFields = [
            "Content-Type": "video/mp4", "Connection": "keep-alive, X-Hop", "x-hop": "1", "Keep-Alive": "timeout=5", "ETag": "\"a\"",
            "Content-Length": "10", "Content-Range": "bytes 0-9/10", "Set-Cookie": "a=b", "Proxy-Authenticate": "Basic",
            "Proxy-Connection": "x", "TE": "trailers", "Trailer": "X", "Transfer-Encoding": "chunked", "Upgrade": "h2c", "X-Own": "kept",
        ]
        #expect(storedFields(of: fields) == ["Content-Type": "video/mp4", "ETag": "\"a\"", "X-Own": "kept"])
    }

    @Test func `fields that Cache-Control excludes from reuse are not stored`() {
        let control = "no-cache=\"X-Token\", private=\"X-User, X-Session\""
        let fields: HTTPFields = ["Cache-Control": control, "X-Token": "1", "x-user": "2", "X-Session": "3", "X": "4"]
        #expect(storedFields(of: fields) == ["Cache-Control": control, "X": "4"])
    }

    @Test func `fields that identify the bytes are stored even if Connection names them`() {
        let fields: HTTPFields = ["Connection": "close, ETag, Cache-Control", "ETag": "\"a\"", "Cache-Control": "no-store"]
        #expect(storedFields(of: fields) == ["ETag": "\"a\"", "Cache-Control": "no-store"])
    }

    @Test func `repeated fields keep their lines and their order`() {
        let fields: HTTPFields = ["Vary": "A", "Link": "<1>", "vary": "B", "Link": "<2>"]
        #expect(storedFields(of: fields) == fields)
    }

    @Test func `stored fields stay within their limit and keep the caching fields`() {
        let big = String(repeating: "x", count: 40_000)
        let fields: HTTPFields = ["X-1": big, "X-2": big, "X-3": "small", "ETag": "\"a\"", "Last-Modified": "x"]
        #expect(storedFields(of: fields).lines.map(\.name) == ["X-1", "X-3", "ETag", "Last-Modified"])
        let full: HTTPFields = ["X-1": String(repeating: "x", count: maxStoredFieldBytes - 7), "X-2": "y"]
        #expect(storedFields(of: full).lines.map(\.name) == ["X-1"])
    }
}

@Suite struct `the field Cache-Status` {
    @Test func `Cache-Status reports a hit`() {
        #expect(CacheStatus(.hit).fieldValue == "spool; hit")
    }

    @Test func `Cache-Status reports why and how a request was forwarded`() {
        let status = CacheStatus(.forwarded(.miss), forwardStatus: 206, isCollapsed: true)
        #expect(status.fieldValue == "spool; fwd=miss; fwd-status=206; collapsed")
        #expect(CacheStatus(.forwarded(.uriMiss)).fieldValue == "spool; fwd=uri-miss")
    }

    @Test func `Cache-Status escapes its detail and contains printable ASCII only`() {
        let status = CacheStatus(.forwarded(.bypass), detail: "disk \"full\" \\ é\r\nX: y")
        #expect(status.fieldValue == #"spool; fwd=bypass; detail="disk \"full\" \\ ????X: y""#)
        #expect(CacheStatus(.hit, detail: String(repeating: "a", count: 1000)).fieldValue.utf8.count < 300)
    }
}
