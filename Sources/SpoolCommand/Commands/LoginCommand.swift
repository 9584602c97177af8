import SpoolJSON

/// `spool login`: prints a link that logs a browser in to the status page of the running server.
struct LoginCommand: StoreCommand {

    static let syntax = CommandSyntax(
        "login", "Print a link that lets a browser change what is stored",
        discussion: [
            "The status page of a running server shows what is stored. A browser that has opened the link can also pin, remove, verify and"
                + " fetch there, for 12 hours. The link works once, within 10 minutes, in a browser on this machine.",
            "A server with --origin prints no link: the pages of its site have the address of the status page, and could use the login.",
            "The server is asked with the token in serve.json, which only its user can read.",
        ],
        flags: [CacheSettings.directory, .json],
        examples: [.init("spool login", "Open the printed link in a browser.")])

    let settings: CacheSettings
    let arguments: Arguments

    func run() async throws -> ExitCode {
        let link = try RunningServer.required(in: settings.directory()).loginLink()
        try OutputStream.output.write((arguments.isJSON ? JSON.object([("link", .string(link))]).text : link) + "\n")
        return .success
    }
}
