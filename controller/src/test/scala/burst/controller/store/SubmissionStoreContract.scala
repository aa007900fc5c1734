package burst.controller.store

import burst.controller.flare.{Flare, FlareState, Submission, Submitted, WorkerResult}
import burst.controller.store.Samples.*
import burst.protocol.{FlareId, Timestamp}
import io.circe.JsonObject
import java.util.concurrent.{Callable, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.{Success, Try}

/** What stores of flares and records must do with submissions' keys, which are kept for a day here. */
abstract class SubmissionStoreContract extends StorageFixtures:
  private def now = Timestamp.now()

  private def keyed(
      key: String,
      namespace: String = "guest",
      digest: String = "d",
      created: Timestamp = now,
      state: FlareState = FlareState.Queued
  ): Flare =
    val plain = flare(created = created.micros, namespace = namespace, state = state)
    plain.copy(request = plain.request.copy(submission = Some(Submission(key, digest))))

  private def atOnce[A](work: Vector[() => A]): Vector[Try[A]] =
    val pool = Executors.newFixedThreadPool(work.size)
    try
      val calls: Vector[Callable[Try[A]]] = work.map(one => () => Try(one()))
      pool.invokeAll(calls.asJava).asScala.toVector.map(_.get)
    finally pool.shutdownNow()

  storage.test("a key stands for the first flare of its namespace that has it, and for no other"): s =>
    val first = keyed("k")
    assertEquals(s.flares.submitted("guest", "k"), None)
    s.flares.insert(first)
    assertEquals(s.flares.submitted("guest", "k"), Some(Submitted(first.id, "d")))
    val second = keyed("k", digest = "e")
    intercept[AlreadySubmitted](s.flares.insert(second))
    assertEquals(s.flares.find(second.id), None)
    assertEquals(s.flares.takeUnfinished().map(_.id), Vector(first.id))
    // The key stays when the flare changes and ends.
    s.flares.update(grown(first, FlareState.Succeeded))
    assertEquals(s.flares.submitted("guest", "k"), Some(Submitted(first.id, "d")))
    val other = keyed("k", namespace = "other")
    s.flares.insert(other)
    assertEquals(s.flares.submitted("other", "k").map(_.id), Some(other.id))
    assertEquals(s.flares.submitted("third", "k"), None)
    s.flares.insert(keyed("K"))
    Vector.fill(2)(flare()).foreach(s.flares.insert(_))

  storage.test("a flare that is not stored leaves no key"): s =>
    // Its result belongs to no flare.
    val lost = FlareChange(FlareId.random(), FlareChange.Record.New(keyed("k"), begun = false))
    val results = Vector(WorkerResult(0, Some(short("1")), None))
    intercept[StoreException](s.flares.write(lost.copy(results = results)))
    assertEquals(s.flares.submitted("guest", "k"), None)
    s.flares.insert(keyed("k"))

  storage.test("a key is forgotten with its flare, or when it expires"): s =>
    val ended = keyed("gone", state = FlareState.Succeeded).copy(ended = Some(Timestamp.ofMicros(7)))
    s.flares.insert(ended)
    assertEquals(s.flares.prune("guest", Timestamp.ofMicros(7), 10).flares, 1)
    assertEquals(s.flares.submitted("guest", "gone"), None)
    s.flares.insert(keyed("gone"))
    val old = keyed("old", created = now - 1.day - 1.micro)
    s.flares.insert(old)
    assertEquals(s.flares.submitted("guest", "old"), None)
    val next = keyed("old")
    s.flares.insert(next)
    assertEquals(s.flares.submitted("guest", "old").map(_.id), Some(next.id))
    assert(s.flares.find(old.id).isDefined, "the flare is kept")
    intercept[AlreadySubmitted](s.flares.insert(keyed("old")))

  storage.test("records that are not flares have keys as well"): s =>
    def record(key: String) =
      OpenRecord(FlareId.random(), "guest", "seq", now, JsonObject.empty, Some(Submission(key, "d")))
    val first = record("k")
    s.activations.open(first, 1.minute)
    assertEquals(s.flares.submitted("guest", "k"), Some(Submitted(first.id, "d")))
    intercept[AlreadySubmitted](s.activations.open(record("k"), 1.minute))
    intercept[AlreadySubmitted](s.flares.insert(keyed("k")))

  storage.test(
    "if many write one key at the same time, in shared transactions, one succeeds and others are unaffected"
  ): s =>
    val all = Vector.tabulate(60)(n => if n % 3 == 0 then flare() else keyed(s"k${n % 2}"))
    val stored = atOnce(all.map(f => () => s.flares.insertTogether(f)))
    val (keyless, same) = all.zip(stored).partition(_._1.request.submission.isEmpty)
    assert(keyless.forall(_._2.isSuccess), keyless)
    Vector("k0", "k1").foreach: key =>
      val its = same.filter(_._1.request.submission.exists(_.key == key))
      val (won, lost) = its.partition(_._2.isSuccess)
      assertEquals(won.size, 1)
      assert(lost.forall(_._2.failed.toOption.exists(_.isInstanceOf[AlreadySubmitted])), lost)
      assertEquals(s.flares.submitted("guest", key).map(_.id), won.headOption.map(_._1.id))

  sharing.test("if two controllers write one key at once, one succeeds, and both find it"): (one, other) =>
    (1 to 20).foreach: round =>
      val both = Vector(one, other).map(_ -> keyed(s"k$round"))
      val stored = atOnce(both.map((s, f) => () => s.flares.insertTogether(f)))
      assertEquals(stored.count(_.isSuccess), 1, stored)
      val won = both.zip(stored).collect { case ((_, f), Success(())) => f.id }
      Vector(one, other).foreach: s =>
        assertEquals(s.flares.submitted("guest", s"k$round").map(_.id).toVector, won)

  sharing.test("a key stays valid when another controller takes over"): (one, other) =>
    val first = keyed("k")
    one.flares.insert(first)
    assertEquals(other.flares.takeUnfinished().map(_.id), Vector(first.id))
    intercept[AlreadySubmitted](other.flares.insert(keyed("k")))
    assertEquals(other.flares.submitted("guest", "k").map(_.id), Some(first.id))
