package burst.protocol.link

import burst.protocol.Bundling
import org.apache.pekko.actor.testkit.typed.scaladsl.TestInbox
import org.apache.pekko.actor.typed.delivery.ProducerController.{MessageWithConfirmation, RequestNext}
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import scala.concurrent.duration.DurationInt

class OutboxSuite extends munit.ScalaCheckSuite:
  override def munitTimeout = 3.minutes

  /** The messages are words; a bundle is written with spaces. */
  private given Bundling[String] with
    def bundle(messages: Vector[String]): String = messages.mkString(" ")
    def length(message: String): Long = message.length.toLong

  private class Fixture(version: Int = Bundling.Since):
    val sent: TestInbox[String] = TestInbox()
    private val confirmed = TestInbox[MessageWithConfirmation[String]]()
    val outbox: Outbox[String] = Outbox[String](version)
    def demand(): Unit =
      outbox.demanded(RequestNext("producer", 1, 0, sent.ref, confirmed.ref))

  test("messages that wait when demand returns travel together, in order"):
    val fixture = Fixture()
    import fixture.*
    demand()
    outbox.put("a")
    sent.expectMessage("a")
    outbox.put("b")
    outbox.put("c")
    assert(!sent.hasMessages)
    demand()
    sent.expectMessage("b c")

  test("a message that is not urgent goes with the next urgent one, or when flushed"):
    val fixture = Fixture()
    import fixture.*
    demand()
    outbox.putLater("a")
    assert(!sent.hasMessages)
    outbox.put("b")
    sent.expectMessage("a b")
    outbox.putLater("c")
    demand()
    assert(!sent.hasMessages)
    outbox.flush()
    sent.expectMessage("c")
    demand()
    outbox.putLater("d")
    assert(!sent.hasMessages)

  test("a reader without bundles gets each message separately"):
    val fixture = Fixture(Bundling.Since - 1)
    import fixture.*
    outbox.putLater("a")
    outbox.put("b")
    outbox.put("c")
    Vector("a", "b", "c").foreach: message =>
      demand()
      sent.expectMessage(message)

  property("no message is lost or overtaken, and bundles are limited in size"):
    val step = Gen.oneOf(
      Gen.choose(0, 100_000).map(Left(_)),
      Gen.oneOf(false, true).map(Right(_))
    )
    forAll(Gen.listOf(step)): steps =>
      val fixture = Fixture()
      import fixture.*
      var put = 0
      var received = Vector.empty[String]
      var demanded = false
      def take(): Unit =
        while sent.hasMessages do
          demanded = false
          val bundle = sent.receiveMessage()
          val several = bundle.split(' ').toVector
          assert(several.length <= 64 && (several.length == 1 || bundle.length <= 65 * 1024), bundle.length)
          received ++= several
      def ask(): Unit =
        if !demanded then
          demanded = true
          demand()
        take()
      steps.foreach:
        case Left(length) =>
          put += 1
          val message = s"$put:${"x" * length}"
          if length % 2 == 0 then outbox.put(message) else outbox.putLater(message)
          take()
        case Right(flush) =>
          if flush then outbox.flush()
          ask()
      outbox.flush()
      (0 to put).foreach(_ => ask())
      assertEquals(received.map(_.takeWhile(_ != ':').toInt), (1 to put).toVector)
