// A program outside the project: the installed headers and library are all it has.
#include <conclave/conclave.h>

#include <iostream>
#include <thread>

int main() {
  const auto engine = conclave::Engine::open({});
  std::jthread loop([&](std::stop_token stop) { engine->run(stop); });
  conclave::Request request;
  request.prompt =
      std::vector<conclave::ChatMessage>{{"user", "Nina buys 4 dozen eggs and breaks 7 of them. How many eggs are not broken?"}};
  request.sampling.temperature = 0;
  auto answer = engine->submit(std::move(request));
  if (auto* error = std::get_if<conclave::Error>(&answer)) {
    std::cerr << error->what() << '\n';
    return 1;
  }
  auto& stream = *std::get<std::unique_ptr<conclave::TokenStream>>(answer);
  for (auto event = stream.next(); auto* delta = std::get_if<conclave::Delta>(&event); event = stream.next())
    std::cout << delta->text;
  try {
    conclave::Engine::open({.model = "/nonexistent"});
  } catch (const conclave::Error& e) {  // the exception type crosses the library's border
    std::cout << "\nrefused: " << e.what() << '\n';
  }
}
