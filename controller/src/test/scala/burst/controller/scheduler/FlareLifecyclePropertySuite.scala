package burst.controller.scheduler

import burst.controller.flare.FlareState
import burst.controller.store.StoreProblem
import burst.protocol.*
import munit.ScalaCheckSuite
import org.scalacheck.Prop.*
import org.scalacheck.{Gen, Prop}

import FlareEffect.*
import FlareLifecycle.Stage

class FlareLifecyclePropertySuite extends ScalaCheckSuite:
  private val kinds = Gen.oneOf(FailureKind.values.toVector)
  private val packEvents: Gen[PackEvent] = Gen.choose(-1, 4).flatMap { worker =>
    Gen.frequency(
      4 -> Gen.const(PackEvent.Ready(Some("h:1"), Timestamp.Epoch)),
      2 -> Gen.const(PackEvent.WorkerStarted(worker, Timestamp.Epoch)),
      4 -> Gen.const(PackEvent.WorkerSucceeded(worker, "null", Timestamp.Epoch)),
      2 -> kinds.map(kind => PackEvent.WorkerFailed(worker, Failure(kind, "broken"), Timestamp.Epoch)),
      1 -> Gen.const(PackEvent.Phase(worker, "p", Timestamp.Epoch)),
      1 -> Gen.const(PackEvent.Log(Some(worker), LogStream.Stdout, "line", Timestamp.Epoch)),
      2 -> Gen.option(kinds.map(Failure(_, "pack broke"))).map(PackEvent.PackEnded(true, _, Timestamp.Epoch))
    )
  }

  /** Anything that can happen, expected or not, as a step of the driver. */
  private val moves: Gen[LifecycleDriver => LifecycleDriver] = Gen.frequency(
    6 -> Gen.const(_.place()),
    8 -> Gen.oneOf(FlareState.values.toVector).map(state => (d: LifecycleDriver) => d.stored(state)),
    6 -> Gen.const((d: LifecycleDriver) => d.stored(d.life.flare.state)),
    6 -> Gen.const((d: LifecycleDriver) => d.inputsRead()),
    20 -> Gen.zip(Gen.choose(0, 1), Gen.listOf(packEvents)).map((p, events) => _.report(p, events*)),
    2 -> Gen
      .zip(Gen.choose(1, 3), Gen.choose(0, 1), packEvents)
      .map((attempt, p, event) => _.reportOf(attempt, p, event)),
    1 -> Gen.oneOf("a", "b", "c").map(id => _.lose(id)),
    1 -> Gen.const(_.happen(FlareEvent.Cancel(Timestamp.Epoch))),
    3 -> Gen.oneOf(FlareTimer.values.toVector).map(timer => _.expire(timer)),
    1 -> Gen.const(_.happen(FlareEvent.StoreFailed(
      StorageFailure(StoreProblem.DatabaseAway),
      Timestamp.Epoch
    ))),
    1 -> Gen.option(Gen.const(Failure(FailureKind.Backend, "b"))).map(e =>
      _.happen(FlareEvent.Cleaned(e, Timestamp.Epoch))
    )
  )

  /** Completes what is still pending for the flare: writes return, timers expire, packs that were asked to
    * end do, and so do those that were given up: if `early`, while the flare's end is being stored, otherwise
    * last.
    */
  private def settle(driver: LifecycleDriver, early: Boolean): Unit =
    def endPacks() =
      for id <- Vector("a", "b") do driver.lose(id)
    var steps = 0
    while driver.life.stage != Stage.Ended && steps < 50 do
      steps += 1
      driver.life.stage match
        case Stage.Waiting => driver.expire(FlareTimer.Queue)
        case Stage.Placing => driver.stored(FlareState.Starting).inputsRead()
        case Stage.Starting => driver.expire(FlareTimer.Start)
        case Stage.Running => driver.expire(FlareTimer.Deadline)
        case Stage.Stopping =>
          driver.expire(if driver.life.awaitsLoss then FlareTimer.Loss else FlareTimer.Abort)
        case Stage.Cleaning =>
          driver.expire(if driver.life.isCleanLate then FlareTimer.Loss else FlareTimer.Clean)
        case Stage.Closing =>
          if early then endPacks()
          driver.stored(driver.life.flare.state)
        case Stage.Ended => ()
    endPacks()

  for cleans <- Vector(false, true) do
    property(s"any sequence of events ends the flare once and releases each slot once (cleaning: $cleans)"):
      forAll(Gen.listOf(moves), Gen.choose(0, 2), Gen.oneOf(true, false)) { (sequence, retries, early) =>
        val driver = LifecycleDriver(retries = retries, cleans = cleans)
        // the attempts that the scheduler has placed: each gets slots only once
        var placed = Set.empty[Int]
        sequence.foreach { move =>
          val before = driver.life
          move(driver)
          if before.stage == Stage.Waiting && driver.life.stage == Stage.Placing then
            placed += before.flare.attempt
        }
        settle(driver, early)
        assertEquals(driver.life.stage, Stage.Ended)
        assertEquals(driver.announced.length, 1)
        assertEquals(driver.effects.count(_ == Retire), 1)
        val asked = driver.effects.count(_.isInstanceOf[Prepare])
        assertEquals(driver.effects.count(_ == Clean), if cleans then asked else 0)
        val flare = driver.announced.head
        assert(flare.state.isFinal)
        assertEquals(flare.error.isEmpty, flare.state == FlareState.Succeeded)
        assert(flare.workers.forall(_.state.isFinal))
        val ours = driver.released.filter((attempt, _) => placed(attempt))
        assertEquals(ours.sorted, placed.toVector.sorted.flatMap(n => Vector((n, 0), (n, 1))))
        // results stored since the last attempt began: one per worker, no more
        val last = driver.effects.drop(driver.effects.lastIndexOf(ClearAttempt) + 1)
        val results = last.collect { case StoreResults(results) => results }.flatten
        assertEquals(results.map(_.worker).sorted, Vector(0, 1, 2, 3))
        Prop.passed
      }
