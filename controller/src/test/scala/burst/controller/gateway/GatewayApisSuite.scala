package burst.controller.gateway

import burst.controller.action.ActionName
import burst.controller.store.{ApiStore, EmbeddedStorage, StoredApi}
import burst.controller.web.WebExtension
import java.util.concurrent.ConcurrentLinkedQueue
import scala.jdk.CollectionConverters.*

class GatewayApisSuite extends EmbeddedStorage:
  private val template = "/a"
  private val path = ApiPath.parse(template).getOrElse(fail(template))
  private val backend = Backend(ActionName("guest", None, "hello"), WebExtension.Http, None)

  private def operation(base: String, at: String = template, title: Option[String] = None) =
    ApiRequest.Operation(base, title, path, at, "get", backend)

  storage.test("a namespace has a maximum number of APIs, and at that number they can still be changed"): s =>
    val apis = GatewayApis(s.apis)
    (1 to GatewayApis.MostApis).foreach: n =>
      assert(apis.create("guest", operation(s"/$n"), "http://h").isRight)
    assertEquals(
      apis.create("guest", operation("/more"), "http://h"),
      Left(GatewayProblem.TooMany(GatewayApis.MostApis))
    )
    assert(apis.create("guest", operation("/1", "/b"), "http://h").isRight)
    assert(apis.create("other", operation("/more"), "http://h").isRight)
    assertEquals(apis.delete("guest", "/1", None, None), Right(()))
    assert(apis.create("guest", operation("/more"), "http://h").isRight)

  storage.test("a namespace can neither see nor change another's APIs"): s =>
    val apis = GatewayApis(s.apis)
    assert(apis.create("guest", operation("/mine", title = Some("Mine")), "http://h").isRight)
    assertEquals(apis.list("other", None, None, None, 10, 0), Vector.empty)
    Seq("/mine", "Mine").foreach: name =>
      assertEquals(apis.delete("other", name, None, None), Left(GatewayProblem.NoSuchApi(name)))
    assertEquals(apis.create("other", operation("Mine"), "http://h"), Left(GatewayProblem.NoSuchApi("Mine")))
    assertEquals(apis.list("guest", None, None, None, 10, 0).map(_(0).title), Vector("Mine"))

  storage.test("a request reads no more APIs than it needs"): s =>
    val apis = GatewayApis(s.apis)
    Seq("/", "/x", "/x/y").foreach: base =>
      assert(apis.create("guest", operation(base), "http://h").isRight)
    val read = ConcurrentLinkedQueue[String]()
    object counting extends ApiStore:
      export s.apis.{find as _, *}
      def find(tenant: String, basePath: String): Option[StoredApi] =
        read.add(basePath)
        s.apis.find(tenant, basePath)
    val gateway = Gateway(counting)
    def find(path: String*) = gateway.find(Tenant.of("guest"), path.toVector, "get")
    assert(find("x", "y", "a").exists(_.isInstanceOf[ApiTarget.Found]))
    assertEquals(read.asScala.toSeq, Seq("/x/y"))
    assert(find("x", "y").contains(ApiTarget.Nowhere))
    assertEquals(read.asScala.toSeq, Seq("/x/y", "/x", "/"))

  storage.test("a cached API is not used once it has changed"): s =>
    val (apis, gateway) = (GatewayApis(s.apis), Gateway(s.apis))
    def found(segment: String) = gateway.find(Tenant.of("guest"), Vector("x", segment), "get")
    assertEquals(found("a"), None)
    assert(apis.create("guest", operation("/x"), "http://h").isRight)
    assertEquals(found("a"), Some(ApiTarget.Found(backend, Vector.empty)))
    assertEquals(found("b"), Some(ApiTarget.Nowhere))
    assert(apis.create("guest", operation("/x", "/b"), "http://h").isRight)
    assertEquals(found("b"), Some(ApiTarget.Found(backend, Vector.empty)))
    assertEquals(apis.delete("guest", "/x", Some("/a"), None), Right(()))
    assertEquals(found("a"), Some(ApiTarget.Nowhere))
