import AVFoundation
import SpoolAVFoundation
import SpoolSystem
import SpoolTesting
import Testing

/// An app that enters the background and returns.
@Suite(.timeLimit(.minutes(20))) struct AppLifecycleTests {
    private static func follow(_ world: DoorWorld) -> (AppLifecycle, NotificationCenter) {
        let center = NotificationCenter()
        return (
            AppLifecycle(cache: world.world.cache, center: LifecycleCenter(center: center, background: "away", foreground: "back")), center
        )
    }

    private static func post(_ name: String, _ center: NotificationCenter) {
        center.post(name: Notification.Name(name), object: nil)
    }

    @Test func `broken connections are retried at once when the app returns to the foreground`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        Self.post("away", center)
        world.world.origin.setOffline(true, breaksTransfers: true)
        // Retries get rarer. The next one is seconds away.
        world.pass(.seconds(40))
        #expect(!all.isOver)
        world.world.origin.setOffline(false)
        Self.post("back", center)
        let taken = all.bytes.count
        world.pass(.seconds(1))
        #expect(all.bytes.count > taken)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @Test func `stored bytes are served after the background as before`() throws {
        var plan = World.Plan()
        plan.usesDisk = true
        let world = try DoorWorld(length: 300_000, plan: plan)
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        Self.post("away", center)
        world.pass(.seconds(5))
        Self.post("back", center)
        world.pass(.seconds(1))
        let again = world.load(asset, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(again.bytes.count == 300_000 && world.difference(again, at: 0) == nil)
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @Test func `playback goes on across several stays in the background`() throws {
        var plan = World.Plan()
        plan.usesDisk = true
        let world = try DoorWorld(length: 900_000, plan: plan)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 200_000 })
        for _ in 0..<3 {
            Self.post("away", center)
            world.pass(.milliseconds(700))
            Self.post("back", center)
            world.pass(.milliseconds(300))
        }
        #expect(world.runToEnd())
        #expect(all.bytes.count == 900_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }
}
