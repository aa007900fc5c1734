package burst.invoker

import burst.protocol.*
import org.apache.pekko.Done
import org.apache.pekko.actor.testkit.typed.scaladsl.{FishingOutcomes, TestProbe}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Future, Promise}

/** How an invoker stops and leaves, and what it cleans up first. */
class InvokerEndSuite extends InvokerFixtures:
  private val redis = BackendConfig("redis-list", Some("redis://h"), None)

  fixture.test("a flare is cleaned by the runtime, and failures are reported"): fixture =>
    val probe = kit.createTestProbe[InvokerReport]()
    val id = FlareId.random()
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assertEquals(probe.receiveMessage(), FlareCleaned(id, None))
    fixture.cleaning = Future.successful(Some(Failure(FailureKind.Backend, "it is gone")))
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assertEquals(probe.expectMessageType[FlareCleaned].error.map(_.message), Some("it is gone"))
    fixture.cleaning = Future.failed(RuntimeException("x"))
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assert(probe.expectMessageType[FlareCleaned].error.nonEmpty)

  fixture.test("a backend without a server needs no cleaning"): fixture =>
    val probe = kit.createTestProbe[InvokerReport]()
    fixture.cleaning = Promise[Option[Failure]]().future
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis.copy(uri = None)), probe.ref)
    assertEquals(probe.expectMessageType[FlareCleaned].error, None)

  /** Stops the invoker during a clean-up: returns the probe that receives both answers in order, and the
    * promise of the clean-up.
    */
  private def stopWhileCleaning(
      fixture: InvokerFixture,
      longest: FiniteDuration
  ): (TestProbe[InvokerReport | Done], Promise[Option[Failure]]) =
    val (probe, cleaned) = (kit.createTestProbe[InvokerReport | Done](), Promise[Option[Failure]]())
    fixture.cleaning = cleaned.future
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis), probe.ref)
    fixture.invoker ! Invoker.Stop(longest, probe.ref)
    (probe, cleaned)

  fixture.test("stopping waits for running clean-ups"): fixture =>
    val (probe, cleaned) = stopWhileCleaning(fixture, 1.hour)
    // By the time this is answered, an invoker that does not wait would have stopped.
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis.copy(uri = None)), probe.ref)
    assert(probe.expectMessageType[FlareCleaned].error.isEmpty)
    cleaned.success(None)
    assert(probe.expectMessageType[FlareCleaned].error.isEmpty)
    assertEquals(probe.receiveMessage(), Done)

  fixture.test("stopping does not wait for a server that does not answer"): fixture =>
    assertEquals(stopWhileCleaning(fixture, 20.millis)._1.receiveMessage(), Done)

  fixture.test("stopping ends all packs, running and warm, before it is confirmed"): fixture =>
    import fixture.setup
    fixture.warmUp()
    fixture.prepare(fixture.another.copy(definition = setup.definition.copy(version = "0.0.2")))
    setup.givePackage()
    val _ = setup.runtime.pack()
    val stopped = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvokerLost))
    stopped.receiveMessage()
    assertEquals(setup.driver.stops.toSet, Set("c1", "c2"))

  fixtureWith(InvokerFixture(beat = 20.millis)).test(
    "an invoker that is to leave announces it immediately, and is done when its packs have ended"
  ): fixture =>
    import fixture.setup
    fixture.prepare(fixture.another)
    setup.givePackage()
    val pack = setup.runtime.pack()
    val departed = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Leave(departed.ref)
    val _ = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.isLeaving => FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore
    def acknowledge(free: Option[Boolean]): Unit = fixture.invoker ! Invoker.LeaveAcknowledged(free)
    for _ <- 1 to 3 do
      acknowledge(Some(true))
      departed.expectNoMessage(25.millis)
    fixture.end(pack)
    kit.createTestProbe[Any]().awaitAssert:
      acknowledge(Some(true))
      departed.receiveMessage(50.millis)

  for (free, what) <- Vector(Some(true) -> "that nothing more comes", None -> "of its leaving twice") do
    fixtureWith(InvokerFixture(beat = 20.millis)).test(
      s"an idle invoker does not leave before it has heard $what"
    ): fixture =>
      val departed = kit.createTestProbe[Done]()
      fixture.invoker ! Invoker.Leave(departed.ref)
      departed.expectNoMessage(100.millis)
      // one interval counts only one answer
      for _ <- 1 to 3 do fixture.invoker ! Invoker.LeaveAcknowledged(Some(false))
      fixture.invoker ! Invoker.LeaveAcknowledged(free)
      departed.expectNoMessage(20.millis)
      // a request that was on its way, however late it arrives
      fixture.warmUp()
      departed.expectNoMessage(20.millis)
      kit.createTestProbe[Any]().awaitAssert:
        fixture.invoker ! Invoker.LeaveAcknowledged(free)
        departed.receiveMessage(50.millis)

  fixture.test("a stopping invoker starts nothing new"): fixture =>
    import fixture.setup
    val outcome = Promise[burst.invoker.driver.StopOutcome]()
    fixture.warmUp()
    setup.driver.beforeStop = outcome.future
    val stopped = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
    fixture.prepare(fixture.another)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvokerLost))
    stopped.expectNoMessage(20.millis)
    outcome.success(burst.invoker.driver.StopOutcome.Stopped)
    stopped.receiveMessage()

  fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 2))
    .test("stopping removes pre-warmed packs"): fixture =>
      prewarmedPacks(fixture, 2)
      val stopped = kit.createTestProbe[Done]()
      fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
      stopped.receiveMessage()
      assertEquals(fixture.setup.driver.stops.toSet, Set("c1", "c2"))
