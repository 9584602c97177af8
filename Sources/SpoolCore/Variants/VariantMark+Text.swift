extension VariantMark {
    /// The mark as one line of text, in which an index keeps it.
    package var text: String {
        let lists = [names, values, users].map { $0.joined(separator: ",") }
        return lists.joined(separator: ";") + ";\(isPersonal ? "p" : "")\(servesAll ? "a" : "")"
    }

    /// Reads a line. A line that cannot be read gives a mark that answers no request, because the
    /// response may belong to one user.
    package init(text: String) {
        self.init()
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count == 4 else {
            names = ["*"]
            return
        }
        names = parts[0].split(separator: ",").map(String.init)
        values = Array(parts[1].split(separator: ",").map(String.init).suffix(Self.valueLimit))
        users = Array(parts[2].split(separator: ",").map(String.init).suffix(Self.userLimit))
        isPersonal = parts[3].contains("p")
        servesAll = parts[3].contains("a")
        // Nothing in the index grants more than the lists.
        if names.isEmpty && users.isEmpty { names = ["*"] }
    }
}
