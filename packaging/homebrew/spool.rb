# A formula for Homebrew. Not run here: its syntax is checked. There is no release yet, so it builds the branch 'main' of your copy:
# replace the address, then `brew install --HEAD ./packaging/homebrew/spool.rb`.
class Spool < Formula
  desc "Media cache between players and the network"
  homepage "https://example.com/spool"
  license "MIT"
  head "https://example.com/spool.git", branch: "main"

  on_macos do
    depends_on xcode: ["26.0", :build]
    depends_on macos: :ventura
  end

  on_linux do
    depends_on "pkgconf" => :build
    depends_on "swift" => :build
    depends_on "curl"
    depends_on "openssl@3"
    depends_on "sqlite"
  end

  def install
    flags = ["--disable-sandbox", "-c", "release", "-Xswiftc", "-enforce-exclusivity=unchecked", "--product", "spool"]
    flags += ["--static-swift-stdlib", "-Xlinker", "--no-export-dynamic"] if OS.linux?
    system "swift", "build", *flags
    bin.install ".build/release/spool"
    generate_completions_from_executable(bin/"spool", "completions")
    mkdir "man"
    system bin/"spool", "man", "--output", "man"
    man1.install Dir["man/*.1"]
    pkgshare.install "packaging/monitoring"
  end

  service do
    run [opt_bin/"spool", "serve"]
    keep_alive true
    error_log_path var/"log/spool.log"
  end

  test do
    assert_match "spool", shell_output("#{bin}/spool version")
    (testpath/"film.mp4").write "bytes"
    url = "https://example.com/film.mp4"
    system bin/"spool", "import", "film.mp4", url, "--cache", testpath/"store"
    assert_match url, shell_output("#{bin}/spool ls --cache #{testpath}/store")
  end
end
