package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.*
import munit.FunSuite
import scala.concurrent.duration.DurationInt

import Quarantine.Blame
import StartOutcome.{Fresh, NotUp, Warm}

class QuarantineSuite extends FunSuite:
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val (one, two) = (definition("one"), definition("two"))
  private val foreign = definition("one", "others")
  private val attempt = AttemptId(FlareId.random(), 1)

  private def definition(name: String, namespace: String = "guest") =
    DefinitionRef(namespace, name, "0.0.1", Samples.packageId)
  private def failure(operation: String) =
    Failure(FailureKind.StartFailed, s"$operation went wrong", operation = Some(operation))
  private val full = failure(Operation.Fetch)
  private val broken = failure(Operation.Init)

  /** The quarantine after outcomes reported at the given seconds. */
  private def after(steps: (Int, StartOutcome)*): Quarantine =
    steps.foldLeft(Quarantine.empty(1.second, 8.seconds)) { case (so, (at, outcome)) =>
      so.heard(attempt, one, Vector(outcome), seconds(at))
    }
  private def seconds(n: Int): MonotonicTime = MonotonicTime.Zero + n.seconds

  for (operation, whose) <- Vector(
      Some(Operation.Fetch) -> Blame.Machine,
      Some(Operation.Create) -> Blame.Machine,
      Some(Operation.Init) -> Blame.Unknown,
      Some("start") -> Blame.Nobody,
      Some("work") -> Blame.Nobody,
      None -> Blame.Nobody
    )
  do
    test(s"a start that failed during $operation is the fault of: $whose"):
      assertEquals(Quarantine.blame(Failure(FailureKind.StartFailed, "no", operation = operation)), whose)

  for (name, steps, until) <- Vector[(String, Vector[(Int, StartOutcome)], Option[Int])](
      ("a first failure", Vector(0 -> NotUp(a, full)), Some(1)),
      ("one in a row", Vector(0 -> NotUp(a, full), 2 -> NotUp(a, full)), Some(4)),
      ("many in a row", Vector(0, 1, 3, 7, 15).map(_ -> NotUp(a, full)), Some(23)),
      ("one of a flare that was under way", Vector(0, 1, 2, 2).map(_ -> NotUp(a, full)), Some(3)),
      ("a pack that comes up", Vector(0 -> NotUp(a, full), 2 -> Fresh(a)), None),
      ("a pack that was there", Vector(0 -> NotUp(a, full), 2 -> Warm(a)), Some(1)),
      ("a pack that comes up elsewhere", Vector(0 -> NotUp(a, full), 2 -> Fresh(b)), Some(1)),
      ("now and then", Vector(0 -> NotUp(a, full), 2 -> Fresh(a), 3 -> NotUp(a, full)), Some(5)),
      ("once more after a long time", Vector(0 -> NotUp(a, full), 9 -> NotUp(a, full)), Some(10)),
      ("a program that does not come up", Vector(0 -> NotUp(a, broken), 1 -> NotUp(a, broken)), None),
      ("one that came up elsewhere", Vector(0 -> Fresh(b), 1 -> NotUp(a, broken)), Some(2)),
      ("one that came up here", Vector(0 -> Fresh(a), 1 -> NotUp(a, broken)), None),
      ("one that then comes up elsewhere", Vector(0 -> NotUp(a, broken), 1 -> Fresh(b)), Some(2)),
      ("one that then comes up here", Vector(0 -> NotUp(a, broken), 1 -> Fresh(a), 2 -> Fresh(b)), None),
      ("what is nobody's fault", Vector(0 -> Fresh(b), 1 -> NotUp(a, failure("start"))), None)
    )
  do
    test(s"how long a machine is avoided: $name"):
      assertEquals(after(steps*).suspicion(a).map(_.until), until.map(seconds))

  test("start failures of two namespaces' programs are the machine's fault, those of one are not"):
    val guests =
      after(0 -> NotUp(a, broken)).heard(attempt, two, Vector(NotUp(a, broken)), MonotonicTime.ofMicros(1))
    assertEquals(guests.suspicion(a), None)
    val both = guests.heard(attempt, foreign, Vector(NotUp(a, broken)), MonotonicTime.ofMicros(2))
    assertEquals(both.suspicion(a).map(_.reason), Some("programs do not come up on it"))
    val between =
      guests.heard(
        attempt,
        two,
        Vector(Fresh(a)),
        MonotonicTime.ofMicros(2)
      ).heard(attempt, foreign, Vector(NotUp(a, broken)), MonotonicTime.ofMicros(3))
    assertEquals(between.suspicion(a), None)

  test("a flare whose packs come up on one machine and not on another informs about both"):
    val told =
      Quarantine.empty(
        1.second,
        8.seconds
      ).heard(attempt, one, Vector(NotUp(a, broken), Fresh(b)), MonotonicTime.ofMicros(0))
    assertEquals((told.suspicion(a).isDefined, told.suspicion(b)), (true, None))

  test("only one flare at a time is a machine's trial"):
    val avoided = after(0 -> NotUp(a, full))
    assertEquals(avoided.trust(a, seconds(1) - 1.micro), Trust.Avoided)
    assertEquals(avoided.trust(a, seconds(1)), Trust.OnTrial)
    val tried = avoided.placed(attempt, Vector(a, b), seconds(1))
    assertEquals(tried.trust(a, seconds(5)), Trust.Avoided, "until its outcome is known")
    assertEquals(tried.undecided(AttemptId(attempt.flare, 2)).trust(a, seconds(5)), Trust.Avoided)
    assertEquals(tried.undecided(attempt).trust(a, seconds(5)), Trust.OnTrial)
    assertEquals(
      tried.heard(attempt, one, Vector(Warm(a)), MonotonicTime.ofMicros(0)).trust(a, seconds(5)),
      Trust.OnTrial
    )
    assertEquals(
      tried.heard(attempt, one, Vector(Fresh(a)), MonotonicTime.ofMicros(0)).trust(a, seconds(5)),
      Trust.Trusted
    )
    val again = tried.heard(attempt, one, Vector(NotUp(a, full)), seconds(2))
    assertEquals(again.trust(a, seconds(4) - 1.micro), Trust.Avoided)
    assertEquals(again.trust(a, seconds(4)), Trust.OnTrial)

  test("a machine that was restarted is trusted"):
    assertEquals(after(0 -> NotUp(a, full)).forget(a).trust(a, MonotonicTime.Zero), Trust.Trusted)
