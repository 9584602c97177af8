package import SpoolCore
import SpoolOrigin

// The fields of clients in the requests of a session: each request has those of the client that
// caused it.

extension ResourceSession {
    /// Returns the request of a fetch, without range and conditions. Called under the lock.
    ///
    /// The URL may be at another host than the session's, if several hosts share a key. That host
    /// gets no field that may carry credentials.
    func request(of intake: FetchIntake, _ state: State) -> OriginRequest {
        var request = intake.asker.request
        let asked = request.location?.origin ?? origin
        if asked != origin, let location = request.location {
            // The configured fields of one host stay with it.
            let rest = HTTPFields(request.fields.lines.filter { !requestFields.lines.contains($0) })
            request.fields = shared.requestFields(for: location).replacing(with: rest)
        }
        guard let client = intake.client else { return request }
        // Configured fields stay.
        request.fields = client.fields.fields(for: asked).replacing(with: request.fields)
        if state.machine.version == nil, intake.ask.revalidation == nil, intake.ask.ifRange == nil {
            request.fields = request.fields.replacing(with: client.offer)
        }
        return request
    }

    /// Notes that the origin refused a request, so that its client alone bears the consequences.
    /// Called under the lock.
    func noteRefusal(_ head: ResponseHead, of intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        if !(200..<400).contains(head.status) { state.failedRequest = FailedRequest(client: intake.client) }
        guard let client = intake.client, [401, 403, 404, 410].contains(head.status) else { return }
        apply(state.machine.revoke(client.selection), &state, &effects)
    }

    /// Returns the mark of a response: the requests that it answers. Called under the lock.
    func mark(of head: ResponseHead, for intake: FetchIntake, _ state: State) -> VariantMark? {
        var fields = head.fields
        if head.status == 304, let stored = state.machine.version?.representation.fields {
            // A 304 may leave out fields that the stored response has (RFC 9110 §15.4.5).
            for name in [HTTPFields.Name.vary, .cacheControl, .cdnCacheControl] where fields[name] == nil {
                for value in stored.values(of: name) { fields.append(name, value) }
            }
        }
        if intake.client == nil, fields[.vary] == nil { return nil }
        return VariantMark(
            of: fields, isRefusal: head.status == 403, for: intake.client?.selection, isShared: shared.configuration.freshness.isShared,
            silent: state.silent.names)
    }

    /// Returns the reason why the response to this client must not be stored (RFC 9111 §3.5).
    ///
    /// A refusal of credentials is not stored, whatever its lifetime is. Out of reach of the origin
    /// it would stand in the way of stored bytes.
    func passReason(for head: ResponseHead, _ intake: FetchIntake) -> NotStoredReason? {
        let isRefusal = [401, 407].contains(head.status) || (head.status == 403 && intake.client?.selection.hasCredentials == true)
        if intake.client != nil, isRefusal { return .status(head.status) }
        guard intake.client?.selection.isShared == true, shared.configuration.freshness.policy != .storeEverything,
            intake.client?.fields.fields[.authorization] != nil
        else { return nil }
        let control = CacheControl(response: head.fields, isShared: true)
        return control.public || control.sMaxAge != nil || control.mustRevalidate ? nil : .authorizedRequest
    }

    /// A request that failed or was refused.
    struct FailedRequest {
        /// The client whose fields it had; nil for a reader of the app.
        var client: ClientRequest?
    }

    /// The state of the session, for the choice of a variant.
    struct VariantState {
        /// The representation that its readers get.
        var representation: Representation?
        /// Whether a reader or a fetch uses it.
        var isBusy: Bool
        /// Whether its bytes are not stored.
        var passes: Bool
    }

    var variantState: VariantState {
        state.withLock { state in
            VariantState(
                representation: state.machine.version?.representation, isBusy: !state.isIdle(),
                passes: state.machine.version?.passReason != nil)
        }
    }
}

// MARK: - Readers

extension SessionReader {
    /// Returns the current version without using it.
    ///
    /// - Parameter wantsBytes: Whether the reader needs bytes if no version is stored.
    package func look(wantsBytes: Bool) -> SessionStateMachine.Look {
        session.state.withLock { $0.machine.look(id, wantsBytes: wantsBytes) }
    }

    /// Notes that the reader needs bytes, although it joined without.
    package func wantBytes() {
        session.state.withLock { $0.machine.readerWantsBytes(id) }
    }

    /// Leaves, because another variant answers the reader's client.
    package func withdraw() {
        leave { machine, now in machine.readerWithdrew(id, now: now) }
    }

    /// Lets the reader's client have the version, because the origin confirmed it for that client.
    package func admit() {
        session.run { state, effects in
            guard let client = state.asks[id]?.client else { return }
            session.apply(state.machine.admit(client.selection), &state, &effects)
        }
    }

    /// Whether the last request of the session that failed had the fields of the reader's client.
    package var failedAsItself: Bool {
        session.state.withLock { state in
            guard let mine = state.asks[id]?.client, let failed = state.failedRequest else { return true }
            return failed.client?.sendsSame(as: mine) == true
        }
    }
}
