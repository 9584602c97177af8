#if canImport(Darwin) && !os(watchOS)
import Foundation
import Spool
import SpoolCore
import SpoolSystem

/// Download tasks of a background `URLSession`.
///
/// Background sessions take no data tasks and no completion handlers, and follow every redirect.
/// Their tasks go on while the process is suspended or gone, and the system launches the app for
/// their ends.
final class SystemBackgroundSession: NSObject, URLSessionDownloadDelegate, BackgroundSession, @unchecked Sendable {
    // Safe to share: `session` is set once, before the first use. The core protects itself.
    private weak var core: BackgroundCore?
    private let queue = OperationQueue()
    private let files: DownloadFiles
    private let userAgent: String?
    private var session: URLSession?

    init(_ core: BackgroundCore, identifier: String, container: String?) {
        self.core = core
        userAgent = core.userAgent
        files = DownloadFiles(in: FileManager.default.temporaryDirectory.path, session: identifier)
        super.init()
        core.adopt(files)
        queue.maxConcurrentOperationCount = 1
        queue.name = "spool-background"
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = false
        configuration.sharedContainerIdentifier = container
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.networkServiceType = .background
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        self.session = session
        session.getAllTasks { [weak core] tasks in
            // The delegate is called for tasks that are over.
            core?.found(tasks.filter { $0.state != .completed }.map { (task: $0.taskIdentifier, download: HandOver($0)) })
        }
    }

    // MARK: BackgroundSession

    func start(_ download: HandOver) -> Int? {
        // `URL` may escape a text, and then it names another resource.
        guard let session, let url = URL(string: download.request.url), url.absoluteString == download.request.url else { return nil }
        var request = URLRequest(url: url)
        request.httpShouldHandleCookies = false
        request.allowsCellularAccess = download.access.allowsCellular
        request.allowsExpensiveNetworkAccess = download.access.allowsExpensive
        request.allowsConstrainedNetworkAccess = download.access.allowsConstrained
        if let userAgent { request.setValue(userAgent, forHTTPHeaderField: HTTPFields.Name.userAgent.text) }
        for field in download.requestFields.lines { request.setValue(field.value, forHTTPHeaderField: field.name) }
        let task = session.downloadTask(with: request)
        task.taskDescription = download.label
        task.resume()
        return task.taskIdentifier
    }

    func cancel(_ task: Int) {
        session?.getAllTasks { tasks in
            for found in tasks where found.taskIdentifier == task { found.cancel() }
        }
    }

    // MARK: URLSessionDownloadDelegate

    /// Moves the file away, because the system deletes it when this method returns.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let core else { return }
        let (download, target) = (HandOver(downloadTask), URL(fileURLWithPath: files.path(UUID().uuidString)))
        var head: ResponseHead?
        if let response = downloadTask.response as? HTTPURLResponse {
            let lines = response.allHeaderFields.map { HTTPFields.Field(name: "\($0.key)", value: "\($0.value)") }
            head = ResponseHead(status: response.statusCode, fields: HTTPFields(lines.sorted { $0.name < $1.name }))
        }
        do {
            if let download, let head { try files.keep(download, head, at: target.path) }
            try FileManager.default.moveItem(at: location, to: target)
        } catch { return core.failed(download) }
        core.arrived(download, head: head, path: target.path)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if error != nil { core?.failed(HandOver(task)) }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { core?.eventsDelivered() }
}

extension HandOver {
    /// Reads the download of a task: from its label, and from its request, which the system keeps
    /// over a relaunch as well.
    fileprivate init?(_ task: URLSessionTask) {
        guard let label = task.taskDescription, let request = task.originalRequest else { return nil }
        self.init(label: label)
        let lines = (request.allHTTPHeaderFields ?? [:]).map { HTTPFields.Field(name: $0.key, value: $0.value) }
        fields = Self.withoutOwn(HTTPFields(lines.sorted { $0.name < $1.name }))
        access.allowsCellular = request.allowsCellularAccess
        access.allowsExpensive = request.allowsExpensiveNetworkAccess
        access.allowsConstrained = request.allowsConstrainedNetworkAccess
    }
}
#endif
