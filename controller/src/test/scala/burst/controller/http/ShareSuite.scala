package burst.controller.http

import burst.controller.store.{addLogs, insert}
import burst.controller.flare.{FlareState, LogText}
import burst.controller.scheduler.Refusal
import burst.controller.limits.OwnLimits
import burst.controller.store.Samples
import burst.protocol.{LogStream, PackId, Timestamp}

/** How much of the API one namespace, or one client that guesses credentials, may use. */
class ShareSuite extends ConnectionSuite:
  override def settings = "burst.http.failed-logins-per-minute = 5"

  private def namespace(name: String, limits: OwnLimits): Option[String] =
    val auth = storage.namespaces.create(name, limits)
    Samples.put(storage, Samples.definition("x", name))
    auth

  private def limited(reply: Reply, words: String*)(using munit.Location): Unit =
    refused(reply, 429, words*)
    val pause = reply.headers.get("retry-after").flatMap(_.toIntOption)
    assert(pause.exists(s => s >= 1 && s <= 60), pause)

  /** Checks that one of several calls is limited, as the rate refills while a busy machine makes them. */
  private def soonLimited(call: => Reply, words: String*)(using munit.Location): Unit =
    val replies = Iterator.continually(call).take(20)
    limited(replies.find(_.status == 429).getOrElse(fail("no limit")), words*)

  test("a flare that is refused does not count against the rate, whatever it is refused for"):
    val auth = namespace("refused", OwnLimits(flaresPerMinute = Some(1), burstSize = Some(2)))
    def flare(body: String, path: String = s"$bursts/x") = send("POST", path, Some(body), auth)
    (1 to 3).foreach: _ =>
      refused(flare("nonsense"), 400)
      refused(flare("""{"size":3}"""), 400)
      refused(flare("""{"size":1}""", s"$bursts/unknown"), 404)
      refused(send("POST", s"$bursts/x", Some("{}"), auth, contentType = Some("text/plain")), 415)
      refused(flare("""{"params":[1]}""", s"$groups/${"0" * 32}"), 404)
      service.refusing = Some(Refusal.QueueFull(7))
      refused(flare("""{"size":1}"""), 429, "7 flares are waiting")
      service.refusing = None
      service.breaking = Some(RuntimeException("provoked"))
      refused(flare("""{"size":1}"""), 500)
      service.breaking = None
    assertEquals(flare("""{"size":1}""").status, 202)
    soonLimited(flare("""{"size":1}"""), "1 flares a minute")

  test("a namespace's deploys and rollbacks are limited, including those that are refused"):
    val auth = namespace("deployer", OwnLimits(deploysPerMinute = Some(4)))
    def deploy(body: Option[String]) = send("PUT", s"$bursts/y?overwrite=true", body, auth)
    assertEquals(deploy(deployment()).status, 200)
    assertEquals(deploy(deployment()).status, 200)
    refused(deploy(Some("{}")), 400)
    def rollBack() = send("POST", s"$bursts/y/rollback", Some("{}"), auth)
    assertEquals(rollBack().status, 200)
    soonLimited(rollBack(), "4 times a minute")
    soonLimited(deploy(deployment()), "4 times a minute")
    assertEquals(send("GET", s"$bursts/y", auth = auth).status, 200)

  test("a namespace's requests are limited, and no other namespace has to wait for it"):
    val auth = namespace("asking", OwnLimits(requestsPerMinute = Some(3)))
    Seq(bursts, s"$bursts/unknown", "/api/v1/nowhere").foreach: path =>
      assertNotEquals(send("GET", path, auth = auth).status, 429)
    soonLimited(send("GET", bursts, auth = auth), "3 requests a minute")
    soonLimited(send("POST", s"$bursts/x", Some("""{"size":1}"""), auth), "3 requests a minute")
    assertEquals(send("GET", bursts).status, 200)

  test("concurrent requests are limited, and each counts until it is answered"):
    val auth = namespace("waiting", OwnLimits(concurrentRequests = Some(2)))
    def half() = connect().send(
      s"POST $bursts/x HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(auth.get)}\r\n" +
        "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    )
    val busy = Seq(half(), half())
    try
      busy.foreach(_.interim())
      limited(send("GET", bursts, auth = auth), "2 requests under way")
      busy.foreach(c => refused(c.send("{}").reply(), 400))
      assertEquals(send("GET", bursts, auth = auth).status, 200)
      service.breaking = Some(RuntimeException("provoked"))
      (1 to 3).foreach(_ => refused(send("POST", s"$bursts/x", Some("""{"size":1}"""), auth), 500))
      assertEquals(send("GET", bursts, auth = auth).status, 200)
    finally busy.foreach(_.close())

  test("a streamed response counts until it ends or its client has left"):
    val auth = namespace("streaming", OwnLimits(concurrentRequests = Some(1)))
    val text =
      LogText(
        Some(0),
        PackId(0),
        LogStream.Stdout,
        Timestamp.ofMicros(1),
        Vector.fill(100)("x" * 200).mkString("\n")
      )
    val flare = Samples.flare(namespace = "streaming", state = FlareState.Running)
    storage.flares.insert(flare)
    storage.flares.addLogs(flare.id, Vector.fill(300)(text))
    def free() = kit.createTestProbe[Any]().awaitAssert:
      assertEquals(send("GET", bursts, auth = auth).status, 200)
    raw: c =>
      c.send(get(s"$flares/${flare.id.value}/logs", auth.get)).head()
      limited(send("GET", bursts, auth = auth), "1 requests under way")
      limited(send("GET", bursts, auth = auth), "1 requests under way")
    free()
    raw: c =>
      c.send(get(s"$flares/${flare.id.value}/logs", auth.get)).head()
      c.chunks()
      free()

  test("wrong credentials are limited per address, and lock out nobody who was let in before"):
    assertEquals(send("GET", bursts).status, 200)
    val fresh = namespace("fresh", OwnLimits())
    val wrong = Some(s"${java.util.UUID.randomUUID}:guess")
    val replies = Seq.fill(20)(send("GET", bursts, auth = wrong))
    replies.take(5).foreach(refused(_, 401))
    assert(replies.drop(5).count(_.status == 429) > 10, replies.map(_.status))
    soonLimited(send("GET", admin, auth = Some("admin:wrong")), "wrong credentials")
    soonLimited(
      {
        val _ = send("GET", bursts, auth = wrong)
        send("GET", bursts, auth = fresh)
      },
      "wrong credentials"
    )
    refused(send("GET", bursts, auth = None), 401)
    assertEquals(send("GET", bursts).status, 200)
    assertEquals(send("GET", admin, auth = caller(admin)).status, 200)
    assert(storage.namespaces.revoke("guest").isDefined)
    refused(send("GET", bursts), 401)
