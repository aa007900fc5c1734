package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState}
import burst.controller.placement.Plan
import burst.protocol.*
import munit.FunSuite

import FlareEffect.*
import FlareLifecycle.Stage
import scala.concurrent.duration.DurationInt

/** How a group's life differs from a flare's. */
class GroupLifecycleSuite extends FunSuite:
  private val request = Samples.request(4).copy(group = Some(GroupRole.Holder(7.seconds)))
  private val group: Flare = AdmissionControl.accept(request, Timestamp.Epoch)
  private val plan = Plan.of(Vector(InvokerId("a") -> 2, InvokerId("b") -> 2), 2)

  private def report(pack: Int, event: PackEvent) =
    val invoker = plan.packs(pack).invoker
    FlareEvent.Reported(
      PackReport(group.id, 1, PackId(pack), invoker, Some(PackStart.Cold), Vector(event)),
      Timestamp.Epoch
    )

  private def after(events: FlareEvent*): FlareLifecycle.Step =
    val begun = FlareLifecycle.Step(FlareLifecycle.queued(group, Samples.settings.terms(cleans = false)))
    events.foldLeft(begun)((step, event) => step.andThen(_.step(event)))

  private val open = Seq(
    FlareEvent.Placed(1, plan, Timestamp.Epoch),
    FlareEvent.Stored(1, FlareState.Starting, Timestamp.Epoch),
    FlareEvent.InputsRead(1, Timestamp.Epoch),
    report(0, PackEvent.Ready(None, Timestamp.Epoch)),
    report(1, PackEvent.Ready(None, Timestamp.Epoch))
  )

  test("a group is open when its packs are up, runs nothing, and has no deadline of its own"):
    val step = after(open*)
    assertEquals(step.state.stage, Stage.Running)
    assertEquals(step.effects.count(_ == Open), 1)
    assert(!step.effects.exists(_.isInstanceOf[Start]))
    assert(!step.effects.contains(SetTimer(FlareTimer.Deadline)))

  test("an idle group ends as timed out, and a closed one as cancelled"):
    for
      (event, state, words) <- Seq(
        (
          FlareEvent.Expired(FlareTimer.Deadline, 1, Timestamp.ofMicros(9)),
          FlareState.TimedOut,
          "no flare came"
        ),
        (FlareEvent.Cancel(Timestamp.ofMicros(9)), FlareState.Cancelled, "was closed")
      )
    do
      val step = after((open :+ event)*)
      val aborts = step.effects.collect { case Abort(packs, failure) =>
        (packs, failure.message.contains(words))
      }
      assertEquals(aborts, Vector((Vector(PackId(0), PackId(1)), true)))
      val ends = Seq(0, 1).map(report(_, PackEvent.PackEnded(reusable = false, None, Timestamp.ofMicros(10))))
      val ended = after((open :+ event) ++ ends*)
      assertEquals(ended.state.record.state, state)
      assert(!ended.effects.exists(_.isInstanceOf[StoreResults]), "its workers never ran")

  test("the first pack to end ends its group, for the same reason"):
    val panic = Failure(FailureKind.Panic, "oh", worker = Some(3), pack = Some(PackId(1)))
    val step =
      after(open :+ report(1, PackEvent.PackEnded(reusable = false, Some(panic), Timestamp.ofMicros(5)))*)
    assertEquals(step.state.stage, Stage.Stopping)
    assertEquals(step.state.cause.map(_.failure.kind), Some(FailureKind.Panic))
    assertEquals(step.effects.collect { case Abort(packs, _) => packs }, Vector(Vector(PackId(0))))
